// An agent of A2A 0.3 without an SDK: `message/send`, and a card with `url`.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { untilStopped } from './until-stopped.ts';

interface Rpc {
  id: unknown;
  method: string;
  params?: { message?: { contextId?: string; parts?: { kind: string; text?: string }[] } };
}

const german: Record<string, string> = {
  good: 'guten',
  morning: 'Morgen',
  evening: 'Abend',
  hello: 'hallo',
  thank: 'danke',
  you: 'dir',
  world: 'Welt',
};

function answer({ id, method, params }: Rpc): object {
  if (method !== 'message/send') return { jsonrpc: '2.0', id, error: { code: -32_601, message: 'Method not found' } };
  const words = (params?.message?.parts ?? []).map(({ text = '' }) => text).join(' ');
  const quoted = /"([^"]+)"/.exec(words)?.[1] ?? words;
  const translated = quoted.replace(/\p{L}+/gu, (word) => german[word.toLowerCase()] ?? word);
  const contextId = params?.message?.contextId ?? randomUUID();
  const parts = [{ kind: 'text', text: translated }];
  return { jsonrpc: '2.0', id, result: { kind: 'message', messageId: randomUUID(), role: 'agent', contextId, parts } };
}

const server = createServer(async (request, response) => {
  const body = request.method === 'GET' ? card : answer((await json(request)) as Rpc);
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}).listen(0, '127.0.0.1');
await once(server, 'listening');
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;

const card = {
  protocolVersion: '0.3.0',
  name: 'Old Translator',
  description: 'Translates short texts from English into German',
  url,
  preferredTransport: 'JSONRPC',
  version: '0.9.0',
  capabilities: { streaming: false },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 'translate', name: 'Translate', description: 'English to German', tags: ['language', 'german'] }],
};
untilStopped(url, () => {
  server.closeAllConnections();
  server.close();
});
