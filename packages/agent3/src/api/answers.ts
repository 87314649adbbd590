// Schemas of the API's responses, for the OpenAPI description and for checking the responses of a remote hub.
import { taskStates } from '@pocket-agent/a2a/client';
import { z } from 'zod';
import type { HubHealth } from '../base/agent3.ts';
import type { AgentDetails, Invocation, SearchPage } from '../base/agents.ts';
import type { CallLog, FeedbackResult, Statistics } from '../base/call-records.ts';
import { type CallProgress, type CallResponse, callErrorCodes } from '../base/calls.ts';

const count = z.int().min(0);
const price = z.looseObject({
  perCall: z.number().optional(),
  perMinute: z.number().optional(),
  perToken: z.number().optional(),
  currency: z.string(),
});
const metrics = z.looseObject({ avgResponseTime: z.number(), successRate: z.number(), totalCalls: count });
const taskState = z.enum(taskStates);
const errorCode = z.enum(callErrorCodes);

const summary = {
  id: z.string(),
  name: z.string(),
  description: z.string(),
  reputation: z.number().optional(),
  totalReviews: count,
  protocols: z.array(z.string()),
  verified: z.boolean(),
  tags: z.array(z.string()),
  price: price.optional(),
  health: z.enum(['up', 'down', 'unknown']),
  metrics: metrics.optional(),
};

export const searchPage: z.ZodType<SearchPage> = z.looseObject({
  agents: z.array(z.looseObject(summary)),
  totalFound: count,
  searchTime: z.number(),
  nextCursor: z.string().optional(),
});

export const agentDetails: z.ZodType<AgentDetails> = z.looseObject({
  ...summary,
  owner: z.string(),
  version: z.string(),
  provider: z.looseObject({ organization: z.string(), url: z.string() }).optional(),
  skills: z.array(
    z.looseObject({
      id: z.string(),
      name: z.string(),
      description: z.string(),
      tags: z.array(z.string()),
      examples: z.array(z.string()),
    }),
  ),
  inputModes: z.array(z.string()),
  outputModes: z.array(z.string()),
  cardUrl: z.string().optional(),
  registeredAt: z.string(),
  refreshedAt: z.string(),
  rateLimit: z.looseObject({ calls: count, perSeconds: z.number() }).optional(),
  recentReviews: z.array(
    z.looseObject({
      rater: z.string(),
      userAgentId: z.string().optional(),
      rating: z.number(),
      feedback: z.string(),
      timestamp: z.string(),
    }),
  ),
  asCaller: z.looseObject({ calls: count, ratings: count }).optional(),
});

export const invocation: z.ZodType<Invocation> = z.looseObject({
  agentId: z.string(),
  name: z.string(),
  card: z.record(z.string(), z.unknown()),
  digest: z.string(),
  verified: z.boolean(),
  authentication: z.looseObject({
    schemes: z.array(z.string()),
    required: z.boolean(),
    available: z.boolean(),
    sends: z.array(z.enum(['bearer', 'apiKey', 'basic', 'oauth2'])).optional(),
    problem: z.string().optional(),
  }),
  price: price.optional(),
  metrics: metrics.optional(),
});

export const callResponse: z.ZodType<CallResponse> = z.looseObject({
  success: z.boolean(),
  result: z
    .looseObject({
      untrusted: z.literal(true),
      text: z.string(),
      data: z.array(z.unknown()).optional(),
      files: z
        .array(
          z.looseObject({
            name: z.string().optional(),
            mediaType: z.string(),
            base64: z.string().optional(),
            url: z.string().optional(),
          }),
        )
        .optional(),
      truncated: z.boolean(),
    })
    .optional(),
  error: z.string().optional(),
  errorCode: errorCode.optional(),
  metadata: z.looseObject({
    responseTime: z.number(),
    tokensUsed: z.number().optional(),
    tokensEstimated: z.boolean().optional(),
    cost: z.number().optional(),
    statusCode: z.number().optional(),
    retryCount: count,
    retryAfter: z.number().optional(),
  }),
  task: z
    .looseObject({
      taskHandle: z.string(),
      agentId: z.string().optional(),
      state: taskState,
      question: z.string().optional(),
    })
    .optional(),
  contextId: z.string().optional(),
  receipt: z.string().optional(),
});

export const callProgress: z.ZodType<CallProgress> = z.looseObject({
  message: z.string(),
  state: taskState.optional(),
  continues: z.boolean().optional().describe('For a piece of the answer: whether it continues the previous piece'),
});

export const callLog: z.ZodType<CallLog> = z.looseObject({
  calls: z.array(
    z.looseObject({
      callId: z.string(),
      agentId: z.string(),
      agentName: z.string().optional(),
      caller: z.string(),
      userAgentId: z.string().optional(),
      startedAt: z.string(),
      responseTime: z.number(),
      success: z.boolean(),
      errorCode: errorCode.optional(),
      statusCode: z.number().optional(),
      retryCount: count,
      cost: z.number().optional(),
      tokensUsed: z.number().optional(),
      tokensEstimated: z.boolean().optional(),
      state: taskState.optional(),
      requestDigest: z.string().describe('SHA-256 of the request'),
      responseDigest: z.string().optional().describe('SHA-256 of the answer'),
    }),
  ),
  nextCursor: z.string().optional(),
});

export const feedbackResult: z.ZodType<FeedbackResult> = z.looseObject({
  success: z.literal(true),
  timestamp: z.string(),
  message: z.string(),
  reputation: z.number().optional(),
});

const callStatistics = {
  calls: count,
  successes: count,
  successRate: z.number(),
  cost: z.number(),
  averageResponseTime: z.number(),
};

export const statistics: z.ZodType<Statistics> = z.looseObject({
  total: z.looseObject(callStatistics),
  buckets: z.array(z.looseObject({ start: z.number(), ...callStatistics })),
  agents: z.array(z.looseObject({ agentId: z.string(), name: z.string(), ...callStatistics })),
});

export const hubHealth: z.ZodType<HubHealth> = z.looseObject({
  status: z.enum(['healthy', 'degraded', 'unhealthy']),
  timestamp: z.string(),
  store: z.looseObject({ kind: z.enum(['sqlite', 'postgres']), responseTime: z.number() }),
  network: z.looseObject({ totalAgents: count, activeAgents: count, recentCalls: count, totalFeedback: count }),
  performance: z.looseObject({ searchLatency: z.number().optional(), callLatency: z.number().optional() }),
  version: z.string(),
});

export const failure = z.object({ error: z.object({ code: z.string(), message: z.string() }) });

/** One line of a streamed call: any number of `progress`, then one of the others. */
export const callLine = z.union([
  z.object({ progress: callProgress }),
  z.object({ response: callResponse }),
  z.object({ error: failure.shape.error }),
]);
