// What the page can ask for. Every request carries the token of the studio.
import { errorText, isPocketError, isRecord, isSameSecret } from '@pocket-agent/kit';
import { type Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { type ProfileName, profiles } from 'pocket-agent';
import { Refusal, type Workspace } from '../state/workspace.ts';
import type { Answer } from '../wire.ts';
import { eventStream } from './event-stream.ts';

const MAX_BODY_BYTES = 4_000_000;

export function makeApi(workspace: Workspace, token: string): Hono {
  const api = new Hono().basePath('/api');
  api.use(async (context, next) => {
    const [scheme, given = ''] = (context.req.header('authorization') ?? '').split(' ');
    if (scheme !== 'Bearer' || !isSameSecret(given, token))
      return context.json({ error: 'The token is missing or wrong. Open the address that the studio printed.' }, 401);
    return next();
  });
  api.use(
    bodyLimit({ maxSize: MAX_BODY_BYTES, onError: (context) => context.json({ error: 'This is too long.' }, 413) }),
  );
  api.onError((error, context) => {
    if (error instanceof Refusal) return context.json({ error: error.message }, error.status);
    return context.json({ error: errorText(error) }, isPocketError(error) ? 400 : 500);
  });
  api.notFound((context) => context.json({ error: 'There is nothing here.' }, 404));

  api.get('/events', (context) => eventStream(workspace, Number(context.req.query('after')) || 0));
  api.get('/calls/:id', (context) => {
    const call = workspace.modelCalls.find(context.req.param('id'));
    if (call === undefined) throw new Refusal(404, 'This request is no longer kept.');
    return context.body(call, 200, { 'content-type': 'application/json' });
  });
  api.get('/agents/:name/tools', async (context) => {
    const { req } = context;
    return context.json(await workspace.tools(req.param('name'), req.raw.signal));
  });
  api.post('/agents/:name/tools/:tool', async (context) => {
    const body = await readBody(context);
    if (!isRecord(body.arguments)) throw new Refusal(400, 'The arguments must be an object.');
    const chat = await workspace.openChat(context.req.param('name'));
    chat.callTool(context.req.param('tool'), body.arguments);
    return context.json(chat.info);
  });
  api.post('/chats', async (context) => {
    const { agent, from } = await readBody(context);
    if (typeof agent !== 'string') throw new Refusal(400, 'Name an agent.');
    return context.json((await workspace.openChat(agent, readBranch(from))).info);
  });
  api.delete('/chats/:id', async (context) => {
    await workspace.deleteChat(context.req.param('id'));
    return context.json({});
  });
  api.post('/chats/:id/messages', async (context) => {
    const { text } = await readBody(context);
    const chat = workspace.chat(context.req.param('id'));
    if (typeof text !== 'string' || text.trim() === '') throw new Refusal(400, 'The message is empty.');
    if (chat.isRunning) throw new Refusal(409, 'The agent is still at work. Stop it first, or wait.');
    chat.send(text);
    return context.json(chat.info);
  });
  api.post('/chats/:id/stop', (context) => {
    workspace.chat(context.req.param('id')).stop();
    return context.json({});
  });
  api.post('/chats/:id/settings', async (context) => {
    const { model, profile } = await readBody(context);
    const chat = workspace.chat(context.req.param('id'));
    await chat.choose({
      ...(typeof model === 'string' ? { model } : {}),
      ...(isProfileName(profile) ? { profile } : {}),
    });
    return context.json(chat.info);
  });
  api.post('/questions/:id', async (context) => {
    const answer = readAnswer(await readBody(context));
    if (!workspace.questions.answer(context.req.param('id'), answer))
      throw new Refusal(409, 'This question was answered already, or the run has ended.');
    return context.json({});
  });
  return api;
}

async function readBody({ req }: Context): Promise<Record<string, unknown>> {
  const body: unknown = await req.json().catch(() => undefined);
  if (!isRecord(body)) throw new Refusal(400, 'The body must be a JSON object.');
  return body;
}

function readBranch(from: unknown): { chatId: string; count: number } | undefined {
  if (from === undefined) return undefined;
  if (isRecord(from) && typeof from.chatId === 'string' && Number.isInteger(from.count) && Number(from.count) >= 0)
    return { chatId: from.chatId, count: Number(from.count) };
  throw new Refusal(400, 'A branch needs chatId and count.');
}

/** Empty: the profile of the agent itself. */
function isProfileName(value: unknown): value is ProfileName | '' {
  return value === '' || (typeof value === 'string' && Object.hasOwn(profiles, value));
}

function readAnswer({ allow, deny, remember }: Record<string, unknown>): Answer {
  if (typeof deny === 'string') return { deny };
  if (allow !== true && !isRecord(allow)) throw new Refusal(400, 'An answer has "allow" or "deny".');
  return { allow, ...(remember === 'call' || remember === 'conversation' ? { remember } : {}) };
}
