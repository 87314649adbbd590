// Schemas of all requests, shared by the MCP tools, the HTTP API and its OpenAPI description.
import { z } from 'zod';
import { Agent3Error } from './agent3-error.ts';
import type { TaskRequest } from './calls.ts';
import { mcpServer } from './mcp-server.ts';

/** Base64 characters; a call with this much and a message still fits into one request to a hub. */
const MAX_FILE_CHARACTERS = 3_000_000;

export const MAX_TIMEOUT_MS = 3_600_000;
const MAX_MESSAGE_CHARACTERS = 200_000;

const RETRIES =
  'Default 1. Retries after a refused connection, 429 or 503; after other failures only if the agent is registered as idempotent';
const MAX_COST =
  'the maximum cost in US dollars. It can only lower what a person agreed to; it does not replace the consent of a person';

const agentId = z.string().min(1).max(200).describe('The id of an agent, from agent3_search');
const dollars = z.number().min(0);

export const price = z
  .strictObject({
    perCall: dollars.optional(),
    perMinute: dollars.optional(),
    perToken: dollars.optional(),
    currency: z.string().length(3).default('USD'),
  })
  .describe('What the agent charges; without a declared price, responses have no cost');

const agreedPrice = price
  .optional()
  .describe('The price you expect: the call is refused if the price is higher by now');

export const searchRequest = z.strictObject({
  query: z.string().max(500).describe('What the agent should be able to do, in plain words'),
  limit: z.int().min(1).max(50).default(10),
  cursor: z.string().max(200).optional().describe('nextCursor of the previous page'),
  filters: z
    .strictObject({
      minReputation: z.number().min(1).max(5).optional().describe('Mean rating, 1 to 5'),
      protocols: z.array(z.string()).max(10).optional().describe('For example JSONRPC or HTTP+JSON'),
      verified: z.boolean().optional().describe('Only agents whose card has a verified signature'),
      tags: z.array(z.string()).max(20).optional(),
      maxPricePerCall: dollars.optional().describe('US dollars'),
      healthy: z.boolean().optional().describe('Only agents that answered their last health check'),
    })
    .optional(),
});

export const agentRequest = z.strictObject({ agentId });

export const invokeRequest = z.strictObject({
  agentId,
  context: z
    .strictObject({ task: z.string().max(2_000).optional(), userAgentId: z.string().max(200).optional() })
    .optional()
    .describe('Accepted but ignored'),
});

export const callRequest = z.strictObject({
  agentId,
  message: z
    .string()
    .min(1)
    .max(MAX_MESSAGE_CHARACTERS)
    .describe('The task in plain words, or JSON if inputMode is application/json'),
  inputMode: z.string().max(100).optional().describe('Default text/plain'),
  files: z
    .array(
      z.strictObject({
        name: z.string().max(255),
        mediaType: z.string().max(100),
        base64: z.string().max(MAX_FILE_CHARACTERS),
      }),
    )
    .max(10)
    .refine((files) => files.reduce((sum, { base64 }) => sum + base64.length, 0) <= MAX_FILE_CHARACTERS, {
      error: `all files together may have at most ${MAX_FILE_CHARACTERS} characters of base64`,
    })
    .optional()
    .describe(`At most ${MAX_FILE_CHARACTERS} characters of base64 in total`),
  skillId: z.string().max(200).optional(),
  taskId: z.string().max(500).optional().describe('taskHandle of a response: the message continues that task'),
  contextId: z
    .string()
    .max(500)
    .optional()
    .describe('contextId of a response: the message continues that conversation'),
  mode: z.enum(['wait', 'start']).optional().describe('start: return as soon as the agent has created a task'),
  metadata: z
    .strictObject({
      userAgentId: z
        .string()
        .max(200)
        .optional()
        .describe('Your own agent id: stored with the call; affects the weight of its rating'),
      timeout: z
        .int()
        .min(1)
        .max(MAX_TIMEOUT_MS)
        .optional()
        .describe('Milliseconds for the whole call, default 30,000'),
      streaming: z.boolean().optional(),
      retries: z.int().min(0).max(10).optional().describe(RETRIES),
      maxCost: dollars.optional().describe(MAX_COST),
      agreedPrice,
    })
    .optional(),
});

const base64 = /^[A-Za-z\d+/]*={0,2}$/;

/** A call as the bridge accepts it: files may come without a message. */
export const bridgeCall = z
  .object({ ...callRequest.shape, message: z.string().max(MAX_MESSAGE_CHARACTERS) })
  .refine(({ message, files = [] }) => message.trim() !== '' || files.length > 0, { error: 'the message is empty' })
  .refine(({ files = [] }) => files.every((file) => base64.test(file.base64)), {
    error: 'the content of a file must be base64',
  });

export const batchRequest = z.strictObject({
  calls: z.array(callRequest).min(1).max(20),
});

export const taskRequest = z.strictObject({
  action: z.enum(['get', 'wait', 'reply', 'cancel']),
  taskHandle: z.string().min(1).max(500).describe('From the response of agent3_call'),
  message: z
    .string()
    .min(1)
    .max(MAX_MESSAGE_CHARACTERS)
    .optional()
    .describe("For reply: the answer to the agent's question"),
  timeout: z.int().min(1).max(MAX_TIMEOUT_MS).optional().describe('Milliseconds'),
  maxCost: dollars.optional().describe(`For reply: ${MAX_COST}`),
  userAgentId: z.string().max(200).optional().describe('For reply: your own agent id, as in a call'),
  agreedPrice,
});

export const feedbackRequest = z.strictObject({
  agentId,
  rating: z.number().min(1).max(5),
  feedback: z.string().max(10_000).describe('Public: do not include private information'),
  receipt: z
    .string()
    .max(2_000)
    .optional()
    .describe('From the response of the call; default: your last call to the agent'),
  metadata: z
    .strictObject({
      taskCompleted: z.boolean().optional(),
      responseTime: z.number().min(0).optional(),
      tokensUsed: z.number().min(0).optional(),
    })
    .optional()
    .describe('Accepted but ignored: the call log has the measured values'),
  userAgentId: z.string().max(200).optional().describe('Your own agent id; default: that of the call'),
});

/** Feedback over HTTP, where the receipt of the last call is not remembered. */
export const ratingRequest = feedbackRequest.omit({ metadata: true }).required({ receipt: true });

export const callLogRequest = z.strictObject({
  agentId: agentId.optional(),
  userAgentId: z.string().max(200).optional(),
  caller: z
    .string()
    .max(200)
    .optional()
    .describe('Only calls of this owner; owners other than yourself only for admins'),
  limit: z.int().min(1).max(200).default(50),
  cursor: z.string().max(200).optional().describe('nextCursor of the previous page'),
});

export const listingRequest = z.strictObject({
  kind: z.enum(['agent', 'mcp']).optional(),
  limit: z.int().min(1).max(1_000).default(100),
  cursor: z
    .string()
    .regex(/^\d{1,15}$/, { error: 'must be the nextCursor of the previous page' })
    .optional(),
});

export const statisticsRequest = z.strictObject({
  agentId: agentId.optional(),
  since: z.number().min(0).optional().describe('Milliseconds since 1970; default seven days before until'),
  until: z.number().min(0).optional().describe('Default now'),
  bucketMs: z.int().min(1_000).default(3_600_000).describe('Length of one bucket'),
});

/** A rating as the registry accepts it: with a receipt. */
export const ratedCall = feedbackRequest.required({ receipt: true });

const scheme = { scheme: z.string().optional(), host: z.string().optional() };
const secret = z.string().min(1).max(10_000);

const registration = z.strictObject({
  cardUrl: z
    .url({ protocol: /^https?$/, error: 'must be an absolute http or https URL' })
    .max(2_000)
    .optional()
    .describe('URL of the A2A card of the agent'),
  card: z.record(z.string(), z.unknown()).optional().describe('The card itself, for agents that do not serve one'),
  mcpUrl: z
    .url({ protocol: /^https?$/, error: 'must be an absolute http or https URL' })
    .max(2_000)
    .optional()
    .describe('Address of an MCP server (streamable HTTP), to list it beside agents'),
  server: mcpServer.optional(),
  price: price.optional(),
  rateLimit: z
    .strictObject({ calls: z.int().min(1).max(1_000_000), perSeconds: z.int().min(1).max(2_678_400) })
    .optional()
    .describe('For all callers together; default: no limit. Each caller may make 600 calls per minute over all agents'),
  tags: z.array(z.string().min(1).max(50)).max(20).optional(),
  idempotent: z.boolean().optional().describe('A call whose outcome is unknown may be sent again'),
  credentials: z
    .array(
      z.discriminatedUnion('type', [
        z.strictObject({ ...scheme, type: z.literal('bearer'), token: secret }),
        z.strictObject({ ...scheme, type: z.literal('apiKey'), key: secret }),
        z.strictObject({ ...scheme, type: z.literal('basic'), username: secret, password: secret }),
        z.strictObject({
          ...scheme,
          type: z.literal('oauth2'),
          clientId: secret,
          clientSecret: secret,
          tokenUrl: z.url().optional(),
          scopes: z.array(z.string()).optional(),
        }),
      ]),
    )
    .max(10)
    .optional()
    .describe('Stored encrypted and never shown again'),
});

/** Replaces the credentials of an agent. */
export const credentialsRequest = registration.pick({ credentials: true }).required();

export const reportRequest = z.strictObject({
  reason: z.string().trim().min(1).max(2_000).describe('What is wrong with the agent; only admins read it'),
});

export const moderationRequest = z.strictObject({
  hidden: z
    .string()
    .trim()
    .min(1)
    .max(500)
    .nullable()
    .describe('Why the agent is hidden; its owner sees this. null shows the agent again'),
});

const oneCard = [
  ({ cardUrl, card, mcpUrl, server }: Partial<Record<'cardUrl' | 'card' | 'mcpUrl' | 'server', unknown>>) =>
    [cardUrl, card, mcpUrl, server].filter((one) => one !== undefined).length === 1,
  { error: 'give one of cardUrl, card, mcpUrl and server' },
] as const;

/** A registration by a model, which may not lower prices. */
export const agentRegistration = registration.refine(...oneCard);

export const registerRequest = registration
  .extend({ mayLowerPrice: z.boolean().optional().describe('Default true') })
  .refine(...oneCard);

export function toTaskRequest(request: z.output<typeof taskRequest>): TaskRequest {
  const { action, taskHandle, timeout, message } = request;
  if (action !== 'reply') return { action, taskHandle, timeout };
  if (message === undefined) throw new Agent3Error('INPUT_INVALID', 'A reply needs "message"');
  return { ...request, action, message };
}
