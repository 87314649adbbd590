// What the page can ask for. Every request carries the token of the studio.
import { errorText, isPocketError, isRecord, isSameSecret, recordsIn } from '@pocket-agent/kit';
import { type Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { type Exposure, type ProfileName, profiles } from 'pocket-agent';
import type { DurableSource } from '../state/durable-runs.ts';
import { Refusal } from '../state/refusal.ts';
import type { Workspace } from '../state/workspace.ts';
import type { Answer, DurableList, FormAnswer, FormValue, SentFile } from '../wire/wire.ts';
import { eventStream } from './event-stream.ts';

/** The largest request, files included. */
const MAX_BODY_BYTES = 28_000_000;
const MAX_FILES = 10;
const exposures: readonly (Exposure | '')[] = ['', 'auto', 'direct', 'deferred'];

export function makeApi(workspace: Workspace, token: string): Hono {
  const api = new Hono().basePath('/api');
  api.use(async (context, next) => {
    const [scheme, given = ''] = (context.req.header('authorization') ?? '').split(' ');
    if (scheme !== 'Bearer' || !isSameSecret(given, token))
      return context.json({ error: 'The token is missing or wrong. Open the address that the studio printed.' }, 401);
    return next();
  });
  api.use(
    bodyLimit({
      maxSize: MAX_BODY_BYTES,
      onError: (context) => context.json({ error: 'The request is too large.' }, 413),
    }),
  );
  api.onError((error, context) => {
    if (error instanceof Refusal) return context.json({ error: error.message }, error.status);
    return context.json({ error: errorText(error) }, isPocketError(error) ? 400 : 500);
  });
  api.notFound((context) => context.json({ error: 'There is nothing here.' }, 404));

  api.get('/events', (context) => eventStream(workspace, Number(context.req.query('after')) || 0));
  api.get('/calls/:id', async (context) => {
    const call = await workspace.modelCall(context.req.param('id'));
    return context.body(call, 200, { 'content-type': 'application/json' });
  });
  api.post('/calls/:id/replay', async (context) => {
    const { model, prompt } = await readBody(context);
    const { signal } = context.req.raw;
    const other = typeof model === 'string' && model !== '' ? model : undefined;
    return context.json(await workspace.replay(context.req.param('id'), { model: other, prompt, signal }));
  });
  api.get('/agents/:name/offers', async (context) => context.json(await workspace.offers(context.req.param('name'))));
  api.post('/agents/:name/resource', async (context) => {
    const { server, uri } = await readBody(context);
    const { mcpClient } = workspace.agent(context.req.param('name'));
    return context.json(await mcpClient.readResource(String(server), String(uri)));
  });
  api.post('/agents/:name/prompt', async (context) => {
    const { server, prompt, arguments: given } = await readBody(context);
    const { mcpClient } = workspace.agent(context.req.param('name'));
    const fields = Object.entries(isRecord(given) ? given : {}).map(([key, value]) => [key, String(value)]);
    return context.json(await mcpClient.getPrompt(String(server), String(prompt), Object.fromEntries(fields)));
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
  const durable = () => {
    const sources = workspace.durableSources;
    if (sources.length === 0)
      throw new Refusal(404, 'The studio is not attached to durable runs. Start it with --runs or --attach.');
    return sources;
  };
  api.get('/durable', async (context) => {
    const lists = await Promise.all(
      durable().map((source) => source.list().catch((error) => ({ runs: [], problems: [unreachable(source, error)] }))),
    );
    const runs = lists.flatMap((list) => list.runs).sort((a, b) => b.createdAt - a.createdAt);
    return context.json({ runs, problems: lists.flatMap(({ problems }) => problems) } satisfies DurableList);
  });
  /** Tries one place after the other. One that cannot be reached does not hide the others. */
  const where = async <Value>(look: (source: DurableSource) => Promise<Value | undefined>): Promise<Value> => {
    const problems: string[] = [];
    for (const source of durable())
      try {
        const found = await look(source);
        if (found) return found;
      } catch (error) {
        if (error instanceof Refusal) throw error;
        problems.push(unreachable(source, error));
      }
    throw problems.length > 0 ? new Error(problems.join(' ')) : new Refusal(404, 'There is no such run.');
  };
  api.get('/durable/:id', async (context) =>
    context.json(await where((source) => source.read(context.req.param('id')))),
  );
  api.post('/durable/:id/cancel', async (context) => {
    await where((source) => source.cancel(context.req.param('id')));
    return context.json({});
  });
  api.get('/routers', async (context) => context.json(await workspace.routers()));
  api.get('/gateways', async (context) => context.json((await workspace.gateways?.list()) ?? []));
  api.get('/saved', async (context) => context.json(await workspace.savedChats(context.req.query('words') ?? '')));
  api.post('/chats/:id/open', async (context) =>
    context.json((await workspace.reopenChat(context.req.param('id'))).info),
  );
  api.delete('/chats/:id', async (context) => {
    await workspace.deleteChat(context.req.param('id'));
    return context.json({});
  });
  api.post('/chats/:id/messages', async (context) => {
    const { text, files: given } = await readBody(context);
    const files = readFiles(given);
    const chat = workspace.chat(context.req.param('id'));
    if (typeof text !== 'string' || (text.trim() === '' && files.length === 0))
      throw new Refusal(400, 'The message is empty.');
    if (chat.isRunning) throw new Refusal(409, 'The agent is still running. Stop it first, or wait.');
    chat.send(text, files);
    return context.json(chat.info);
  });
  api.post('/chats/:id/stop', (context) => {
    workspace.chat(context.req.param('id')).stop();
    return context.json({});
  });
  api.post('/chats/:id/settings', async (context) => {
    const { model, profile, exposure } = await readBody(context);
    const chosen = exposures.find((each) => each === exposure);
    const chat = workspace.chat(context.req.param('id'));
    await chat.choose({
      ...(typeof model === 'string' ? { model } : {}),
      ...(isProfileName(profile) ? { profile } : {}),
      ...(chosen === undefined ? {} : { exposure: chosen }),
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

function unreachable({ name }: DurableSource, error: unknown): string {
  return `The runs of ${name} cannot be reached: ${errorText(error)}`;
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

function readFiles(given: unknown): SentFile[] {
  if (given === undefined) return [];
  const files = recordsIn(given);
  if (files.length > MAX_FILES) throw new Refusal(400, `A message may have at most ${MAX_FILES} files.`);
  return files.map(({ name, mediaType, data }) => {
    if (typeof name === 'string' && typeof mediaType === 'string' && typeof data === 'string')
      return { name, mediaType, data };
    throw new Refusal(400, 'A file needs name, mediaType and data.');
  });
}

function readAnswer({ allow, deny, remember, action, content }: Record<string, unknown>): Answer | FormAnswer {
  if (action === 'accept') return { action, ...(isRecord(content) ? { content: readFields(content) } : {}) };
  if (action === 'decline' || action === 'cancel') return { action };
  if (typeof deny === 'string') return { deny };
  if (allow !== true && !isRecord(allow)) throw new Refusal(400, 'An answer must have "allow" or "deny".');
  return { allow, ...(remember === 'call' || remember === 'conversation' ? { remember } : {}) };
}

function readFields(content: Record<string, unknown>): Record<string, FormValue> {
  const isValue = (value: unknown): value is FormValue =>
    ['string', 'number', 'boolean'].includes(typeof value) ||
    (Array.isArray(value) && value.every((each) => typeof each === 'string'));
  const fields = Object.entries(content).map(([name, value]): [string, FormValue] => {
    if (isValue(value)) return [name, value];
    throw new Refusal(400, `${name} must be a string, a number, true, false or a list of strings.`);
  });
  return Object.fromEntries(fields);
}
