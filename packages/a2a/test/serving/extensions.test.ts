// Extensions of A2A: declared in the card, refused if a required one is missing, and told to the caller and to tools.
import { type AgentExtension, remoteAgent } from '@pocket-agent/a2a';
import { tool } from 'pocket-agent';
import { afterEach, expect, test } from 'vitest';
import { silent } from '../../../pocket-agent/test/helpers.ts';
import { ForeignAgent } from '../fixtures/foreign-agent.ts';
import { World } from '../fixtures/world.ts';

const world = new World();
afterEach(() => world.close());

const CITATIONS = 'https://standards.example/citations/v1';
const TRACE = 'urn:example:trace';
const declared: AgentExtension[] = [{ uri: CITATIONS, required: true, params: { style: 'apa' } }, { uri: TRACE }];
const sent = () => ({ message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'hello' }] } });

async function post(url: string, path: string, body: object, headers: Record<string, string>): Promise<Response> {
  const all = { 'content-type': 'application/json', 'a2a-version': '1.0', ...headers };
  return fetch(`${url}/a2a/${path}`, { method: 'POST', headers: all, body: JSON.stringify(body) });
}

const rpc = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params });

test('the card declares extensions, also beside other capabilities of it', async () => {
  const card = { capabilities: { streaming: true, extensions: [{ uri: 'urn:own' }] } };
  const { cardUrl } = await world.serve(world.agent([]), { extensions: declared, card });
  const { capabilities } = (await (await fetch(cardUrl)).json()) as { capabilities: object };
  expect(capabilities).toEqual({ streaming: true, extensions: [{ uri: 'urn:own' }, ...declared] });
});

test.each(['jsonrpc', 'rest/message:send', 'rest/message:stream'])(
  'a message without a required extension is refused (%s)',
  async (path) => {
    const { url } = await world.serve(world.agent([]), { extensions: declared });
    const body = path === 'jsonrpc' ? rpc('SendMessage', sent()) : sent();
    const incomplete: Record<string, string>[] = [{}, { 'a2a-extensions': TRACE }];
    for (const headers of incomplete) {
      const response = await post(url, path, body, headers);
      const { error } = (await response.json()) as { error: { code: number; message: string; details?: object[] } };
      expect(error.message).toContain(`requires the extension ${CITATIONS}`);
      if (path === 'jsonrpc') expect(error.code).toBe(-32008);
      else
        expect([response.status, JSON.stringify(error)]).toEqual([400, expect.stringContaining('EXTENSION_SUPPORT')]);
    }
  },
);

test('extensions in use are told to the caller; unknown ones are ignored', async () => {
  const { url } = await world.serve(world.agent(['hi', 'hi', 'hi']), { extensions: declared });
  const headers = { 'a2a-extensions': `${TRACE},  ${CITATIONS}, urn:unknown` };
  for (const [path, body] of [
    ['rest/message:send', sent()],
    ['rest/message:stream', sent()],
    ['jsonrpc', rpc('SendMessage', sent())],
  ] as const) {
    const response = await post(url, path, body, headers);
    expect([response.status, response.headers.get('a2a-extensions')]).toEqual([200, `${CITATIONS}, ${TRACE}`]);
    await response.text();
  }
});

test('callers of version 0.3 use the header of that version', async () => {
  const { url } = await world.serve(world.agent(['hi']), { extensions: declared });
  const message = { kind: 'message', role: 'user', messageId: 'm', parts: [{ kind: 'text', text: 'hello' }] };
  const headers = { 'a2a-version': '0.3', 'x-a2a-extensions': CITATIONS };
  const response = await post(url, 'jsonrpc', rpc('message/send', { message }), headers);
  expect(response.headers.get('x-a2a-extensions')).toBe(CITATIONS);
  expect(await response.json()).toMatchObject({ result: { status: { state: 'completed' } } });
});

test('tasks can be read without a required extension, and a server without extensions names none', async () => {
  const { url } = await world.serve(world.agent([]), { extensions: declared });
  const response = await post(url, 'jsonrpc', rpc('GetTask', { id: 'none' }), {});
  expect(await response.json()).toMatchObject({ error: { code: -32001 } });
  const plain = await world.serve(world.agent(['hi']));
  const answer = await post(plain.url, 'rest/message:send', sent(), { 'a2a-extensions': TRACE });
  expect([answer.status, answer.headers.has('a2a-extensions')]).toEqual([200, false]);
});

test('tools see the extensions in use and the metadata of the message', async () => {
  const seen: unknown[] = [];
  const look = tool({
    name: 'look',
    description: 'Looks',
    run: (_args, { metadata }) => void seen.push(metadata?.a2a),
  });
  const agent = world.agent([{ toolCalls: [{ name: 'look' }] }, 'done'], { tools: [look] });
  const { url } = await world.serve(agent, { extensions: declared });
  const metadata = { [CITATIONS]: { style: 'mla' } };
  const { message } = sent();
  await post(url, 'rest/message:send', { message: { ...message, metadata } }, { 'a2a-extensions': CITATIONS });
  expect(seen).toEqual([{ extensions: [CITATIONS], message: metadata }]);
});

test('an extension that a header cannot name is refused when the agent is served', async () => {
  const serving = (async () => world.serve(world.agent([]), { extensions: [{ uri: 'one, two' }] }))();
  await expect(serving).rejects.toThrow('extensions must be a list such as');
});

test('remoteAgent names its extensions, and does not use an agent that requires another one', async () => {
  const warned: string[] = [];
  const logger = { ...silent, warn: (text: string) => warned.push(text) };
  const call = { name: 'Other-message', arguments: { message: 'hello' } };
  const done = { message: { messageId: 'a', role: 'ROLE_AGENT', parts: [{ text: 'ok' }] } };
  const other = world.keep(
    await new ForeignAgent(
      { SendStreamingMessage: (_params, reply) => reply.result(done) },
      { capabilities: { streaming: true, extensions: declared } },
    ).start(),
  );
  const using = (extensions: string[]) =>
    world.agent([{ toolCalls: [call] }, 'done'], {
      tools: [remoteAgent({ url: other.url, name: 'Other', extensions, logger })],
    });
  await using([CITATIONS, TRACE]).run('go');
  expect(other.calls[0]?.headers['a2a-extensions']).toBe(`${CITATIONS}, ${TRACE}`);
  expect(await using([TRACE]).listTools()).toEqual([]);
  expect(warned.join()).toContain(`requires the extension ${CITATIONS}: name it in "extensions"`);
});
