// The HTTP API: paths for the methods of `Agent3`. Reading needs no token unless the hub is private; everything else does.
import { requestFault } from '@pocket-agent/http/json-weight';
import type { Logger } from '@pocket-agent/kit';
import { type Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { HTTPException } from 'hono/http-exception';
import type { z } from 'zod';
import type { Agent3 } from '../base/agent3.ts';
import type { CallOptions, CallResponse } from '../base/calls.ts';
import { checkInput } from '../base/check-input.ts';
import {
  callRequest,
  ratingRequest,
  registerRequest,
  statisticsRequest,
  taskRequest,
  toTaskRequest,
} from '../base/requests.ts';
import { callLines, LINES } from './call-lines.ts';
import type { Callers } from './callers.ts';
import { refusal, refuse, toRefusal } from './errors.ts';
import { openApi } from './openapi.ts';
import { callLogQuery, parseQuery, searchQuery } from './query.ts';

export interface ApiOptions {
  agent3: Agent3;
  callers: Callers;
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
  app.get('/openapi.json', (context) => {
    callers.reader(context.req.raw);
    return context.json(openApi());
  });
  addAgentRoutes(app, options);
  addCallRoutes(app, options);
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
    const caller = callers.reader(context.req.raw);
    return context.json(await agent3.search(searchQuery(new URL(context.req.url).searchParams), caller));
  });
  app.get('/api/agents/:id', async (context) => {
    const caller = callers.reader(context.req.raw);
    return context.json(await agent3.select(context.req.param('id'), caller));
  });
  app.get('/api/agents/:id/card', async (context) => {
    const caller = callers.reader(context.req.raw);
    return context.json(await agent3.invoke(context.req.param('id'), caller));
  });
  app.post('/api/agents', async (context) => {
    const caller = callers.owner(context.req.raw);
    const agent = await agent3.register(await readBody(context, registerRequest), caller);
    return context.json(agent, 201, { location: `/api/agents/${encodeURIComponent(agent.id)}` });
  });
  app.delete('/api/agents/:id', async (context) => {
    await agent3.unregister(context.req.param('id'), callers.owner(context.req.raw));
    return context.body(null, 204);
  });
}

function addCallRoutes(app: Hono, { agent3, callers, logger }: ApiOptions): void {
  app.get('/api/calls', async (context) => {
    const caller = callers.owner(context.req.raw);
    return context.json(await agent3.calls(callLogQuery(new URL(context.req.url).searchParams), caller));
  });
  app.post('/api/calls', async (context) => {
    const caller = callers.owner(context.req.raw);
    const request = await readBody(context, callRequest);
    return answerCall(context, (options) => agent3.call(request, caller, options), logger);
  });
  app.post('/api/tasks', async (context) => {
    const caller = callers.owner(context.req.raw);
    const request = toTaskRequest(await readBody(context, taskRequest));
    return answerCall(context, (options) => agent3.task(request, caller, options), logger);
  });
  app.post('/api/feedback', async (context) => {
    const caller = callers.owner(context.req.raw);
    return context.json(await agent3.feedback(await readBody(context, ratingRequest), caller));
  });
}

function addStatusRoutes(app: Hono, { agent3, callers }: ApiOptions): void {
  app.get('/api/statistics', async (context) => {
    callers.reader(context.req.raw);
    const query = checkInput(statisticsRequest, parseQuery(new URL(context.req.url).searchParams));
    const until = query.until ?? Date.now();
    return context.json(
      await agent3.statistics({ ...query, until, since: query.since ?? Math.max(0, until - WEEK_MS) }),
    );
  });
  app.get('/api/health', async (context) => {
    callers.reader(context.req.raw);
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
