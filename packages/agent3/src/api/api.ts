// The HTTP API: paths for the methods of `Agent3`. Reading needs no token unless the hub is private; everything else does.
import { requestFault } from '@pocket-agent/http/json-weight';
import type { Logger } from '@pocket-agent/kit';
import { type Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { HTTPException } from 'hono/http-exception';
import type { z } from 'zod';
import { allowance, statementRequest, tokenRequest } from '../base/account.ts';
import type { Agent3, TokenStore } from '../base/agent3.ts';
import type { CallOptions, CallResponse } from '../base/calls.ts';
import { checkInput } from '../base/check-input.ts';
import type { OwnerTokens } from '../base/owner-tokens.ts';
import {
  callRequest,
  credentialsRequest,
  moderationRequest,
  ratingRequest,
  registerRequest,
  reportRequest,
  statisticsRequest,
  taskRequest,
  toTaskRequest,
} from '../base/requests.ts';
import { callLines, LINES } from './call-lines.ts';
import type { Callers } from './callers.ts';
import { refusal, refuse, toRefusal } from './errors.ts';
import { addExchangeRoutes } from './exchange.ts';
import { openApi } from './openapi.ts';
import { callLogQuery, parseQuery, searchQuery, viaIn } from './query.ts';

export interface ApiOptions {
  agent3: Agent3;
  callers: Callers;
  tokens: OwnerTokens;
  /** Without it, owners have no named tokens. */
  tokenStore: TokenStore | undefined;
  logger: Logger;
  /** Handles push notifications to `/api/push/…`. */
  receivePush?: (request: Request) => Promise<Response>;
}

const MAX_BYTES = 4_000_000;
const WEEK_MS = 7 * 86_400_000;

export function makeApi(options: ApiOptions): Hono {
  const { callers, logger, receivePush } = options;
  const app = new Hono();
  app.onError((error) => (error instanceof HTTPException ? error.getResponse() : refusal(toRefusal(error, logger))));
  addLimitsAndHeaders(app);
  app.get('/openapi.json', async (context) => {
    await callers.reader(context.req.raw);
    return context.json(openApi());
  });
  addAgentRoutes(app, options);
  addCallRoutes(app, options);
  addExchangeRoutes(app, options);
  addTrustRoutes(app, options);
  addAccountRoutes(app, options);
  addStatusRoutes(app, options);
  if (receivePush) app.post('/api/push/:handle', (context) => receivePush(context.req.raw));
  app.all('/api/*', () =>
    refusal({ status: 404, code: 'NOT_FOUND', message: 'Unknown path; /openapi.json lists the API' }),
  );
  return app;
}

function addLimitsAndHeaders(app: Hono): void {
  const message = `A request may have at most ${MAX_BYTES} bytes`;
  const onError = () => refusal({ status: 413, code: 'TOO_LARGE', message });
  app.use('/api/*', bodyLimit({ maxSize: MAX_BYTES, onError }));
  app.use('/api/*', async (context, next) => {
    await next();
    context.header('cache-control', 'no-store');
    context.header('x-content-type-options', 'nosniff');
  });
}

function addAgentRoutes(app: Hono, { agent3, callers }: ApiOptions): void {
  app.get('/api/agents', async (context) => {
    const caller = await callers.reader(context.req.raw);
    const query = searchQuery(new URL(context.req.url).searchParams);
    return context.json(await agent3.search(query, caller, viaIn(context.req.raw.headers)));
  });
  app.get('/api/agents/:id', async (context) => {
    const caller = await callers.reader(context.req.raw);
    return context.json(await agent3.select(context.req.param('id'), caller));
  });
  app.get('/api/agents/:id/card', async (context) => {
    const caller = await callers.reader(context.req.raw);
    return context.json(await agent3.invoke(context.req.param('id'), caller));
  });
  app.post('/api/agents', async (context) => {
    const caller = await callers.owner(context.req.raw);
    const agent = await agent3.register(await readBody(context, registerRequest), caller);
    return context.json(agent, 201, { location: `/api/agents/${encodeURIComponent(agent.id)}` });
  });
  app.delete('/api/agents/:id', async (context) => {
    await agent3.unregister(context.req.param('id'), await callers.owner(context.req.raw));
    return context.body(null, 204);
  });
}

function addCallRoutes(app: Hono, { agent3, callers, logger }: ApiOptions): void {
  app.get('/api/calls', async (context) => {
    const caller = await callers.owner(context.req.raw);
    return context.json(await agent3.calls(callLogQuery(new URL(context.req.url).searchParams), caller));
  });
  app.post('/api/calls', async (context) => {
    const caller = await callers.owner(context.req.raw);
    const request = await readBody(context, callRequest);
    return answerCall(context, (options) => agent3.call(request, caller, options), logger);
  });
  app.post('/api/tasks', async (context) => {
    const caller = await callers.owner(context.req.raw);
    const request = toTaskRequest(await readBody(context, taskRequest));
    return answerCall(context, (options) => agent3.task(request, caller, options), logger);
  });
  app.post('/api/feedback', async (context) => {
    const caller = await callers.owner(context.req.raw);
    return context.json(await agent3.feedback(await readBody(context, ratingRequest), caller));
  });
}

function addTrustRoutes(app: Hono, { agent3, callers }: ApiOptions): void {
  app.post('/api/agents/:id/claim', async (context) => {
    const caller = await callers.owner(context.req.raw);
    return context.json(await agent3.claim(context.req.param('id'), caller));
  });
  app.put('/api/agents/:id/credentials', async (context) => {
    const caller = await callers.owner(context.req.raw);
    const { credentials } = await readBody(context, credentialsRequest);
    await agent3.setCredentials(context.req.param('id'), credentials, caller);
    return context.body(null, 204);
  });
  app.post('/api/agents/:id/reports', async (context) => {
    const caller = await callers.owner(context.req.raw);
    const { reason } = await readBody(context, reportRequest);
    await agent3.report(context.req.param('id'), reason, caller);
    return context.body(null, 204);
  });
  app.put('/api/agents/:id/moderation', async (context) => {
    const caller = await callers.owner(context.req.raw);
    const { hidden } = await readBody(context, moderationRequest);
    await agent3.moderate(context.req.param('id'), hidden ?? undefined, caller);
    return context.body(null, 204);
  });
  app.get('/api/reports', async (context) => context.json(await agent3.reports(await callers.owner(context.req.raw))));
}

function addAccountRoutes(app: Hono, { agent3, callers, tokens, tokenStore }: ApiOptions): void {
  app.get('/api/account', async (context) => context.json(await agent3.account(await callers.owner(context.req.raw))));
  app.put('/api/account/limits', async (context) => {
    const caller = await callers.owner(context.req.raw);
    await agent3.setLimits(await readBody(context, allowance), caller);
    return context.body(null, 204);
  });
  app.get('/api/statement', async (context) => {
    const caller = await callers.owner(context.req.raw);
    return context.json(await agent3.statement(checkInput(statementRequest, context.req.query()), caller));
  });
  app.get('/api/receipts/:receipt', async (context) => {
    const caller = await callers.owner(context.req.raw);
    return context.json(await agent3.receipt(context.req.param('receipt'), caller));
  });
  if (!tokenStore) return;
  app.post('/api/account/tokens', async (context) => {
    const caller = await callers.owner(context.req.raw);
    const info = await tokenStore.addToken(await readBody(context, tokenRequest), caller);
    return context.json({ ...info, token: tokens.issue(caller.id, info.id) }, 201);
  });
  app.delete('/api/account/tokens/:id', async (context) => {
    await tokenStore.revokeToken(context.req.param('id'), await callers.owner(context.req.raw));
    return context.body(null, 204);
  });
}

function addStatusRoutes(app: Hono, { agent3, callers }: ApiOptions): void {
  app.get('/api/statistics', async (context) => {
    await callers.reader(context.req.raw);
    const query = checkInput(statisticsRequest, parseQuery(new URL(context.req.url).searchParams));
    const until = query.until ?? Date.now();
    return context.json(
      await agent3.statistics({ ...query, until, since: query.since ?? Math.max(0, until - WEEK_MS) }),
    );
  });
  app.get('/api/health', async (context) => {
    await callers.reader(context.req.raw);
    const health = await agent3.health();
    return context.json(health, health.status === 'unhealthy' ? 503 : 200);
  });
}

/** As one JSON response, or as lines with the progress if the caller accepts them. */
async function answerCall(
  { req }: Context,
  run: (options: CallOptions) => Promise<CallResponse>,
  logger: Logger,
): Promise<Response> {
  const { signal, headers } = req.raw;
  if (headers.get('accept')?.includes(LINES)) return callLines(run, { signal, logger });
  return Response.json(await run({ signal }));
}

async function readBody<Output>({ req }: Context, schema: z.ZodType<Output>): Promise<Output> {
  if (!/^application\/json\b/i.test(req.header('content-type') ?? ''))
    refuse({
      status: 415,
      code: 'INPUT_INVALID',
      message: 'The body must be JSON, with Content-Type: application/json',
    });
  const body = Buffer.from(await req.arrayBuffer());
  const fault = requestFault(body);
  if (fault) refuse({ status: 413, code: 'TOO_LARGE', message: fault });
  return checkInput(schema, parseJson(body));
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return refuse({ status: 400, code: 'INPUT_INVALID', message: 'The body is not valid JSON' });
  }
}
