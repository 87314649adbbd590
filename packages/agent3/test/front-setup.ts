// Agent3 on a real file with real agents on loopback, and clients of all its doors; all closed after each test.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, InMemoryTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { afterEach } from 'vitest';
import {
  type Agent3,
  type Hub,
  type HubOptions,
  type LocalAgent3,
  type LocalAgent3Options,
  type McpFrontOptions,
  mcpServerFactory,
  OwnerTokens,
  openAgent3,
  serveHub,
} from '../src/index.ts';
import { closeServers } from './fixtures/local-server.ts';

export const alice = { id: 'alice' };
export const tokens = new OwnerTokens({ key: 'a key for the tests', admins: ['root'], revoked: ['mallory'] });
export const eras = ['2025', '2026'] as const;
export type Era = (typeof eras)[number];

const ends: (() => unknown)[] = [];

export function atEnd(end: () => unknown): void {
  ends.push(end);
}

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  await closeServers();
});

export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'agent3-'));
  atEnd(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

export interface Logged {
  lines: string[];
  logger: NonNullable<LocalAgent3Options['logger']>;
}

export function keptLog(): Logged {
  const lines: string[] = [];
  const log = (message: string, fields?: object) => void lines.push(`${message} ${JSON.stringify(fields)}`);
  return { lines, logger: { debug: log, info: log, warn: log, error: log } };
}

export async function open(options: LocalAgent3Options = {}): Promise<LocalAgent3> {
  const agent3 = await openAgent3({
    ...(options.url === undefined ? { file: join(await temporaryFolder(), 'agent3.db') } : {}),
    allowHosts: ['127.0.0.1'],
    healthChecks: false,
    logger: keptLog().logger,
    ...options,
  });
  atEnd(() => agent3.close());
  return agent3;
}

/** The same with some of its answers replaced. */
export function altered(agent3: LocalAgent3, answers: Partial<Agent3>): Agent3 {
  return new Proxy(agent3, {
    get(target, name) {
      const given: unknown = Reflect.get(name in answers ? answers : target, name);
      return typeof given === 'function' ? given.bind(target) : given;
    },
  });
}

export async function startHub(options: Partial<HubOptions> & { agent3: Agent3 }): Promise<Hub> {
  const hub = await serveHub({ tokens, logger: keptLog().logger, ...options });
  atEnd(() => hub.close());
  return hub;
}

export interface Answered {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: answers are plain JSON that tests look into
  body: any;
}

export interface Asked {
  method?: string;
  owner?: string;
  token?: string;
  body?: unknown;
  headers?: Record<string, string>;
}

/** One request to the API of a hub. */
export async function ask(hub: Hub, path: string, { method, owner, token, body, headers }: Asked = {}) {
  const shown = token ?? (owner === undefined ? undefined : tokens.issue(owner));
  const response = await fetch(new URL(path, hub.url), {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: {
      ...(shown === undefined ? {} : { authorization: `Bearer ${shown}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') && !text.includes('\n{');
  const answered: Answered = {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson ? JSON.parse(text) : undefined,
  };
  return answered;
}

export interface ToolAnswer {
  isError: boolean;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: results are plain JSON that tests look into
  data: any;
}

export interface McpClient {
  client: Client;
  call(name: string, args?: Record<string, unknown>, options?: Parameters<Client['callTool']>[1]): Promise<ToolAnswer>;
}

/** A person who is asked, and says yes, no, nothing, or how much it may cost. */
type Said = boolean | undefined | { approve: boolean; maxCost?: number };
type Elicit = (message: string) => Said | Promise<Said>;

function newClient(era: Era, elicit?: Elicit): Client {
  const versionNegotiation =
    era === '2026' ? ({ mode: { pin: '2026-07-28' } } as const) : ({ mode: 'legacy' } as const);
  const client = new Client(
    { name: 'tests', version: '1' },
    { versionNegotiation, capabilities: elicit ? { elicitation: { form: {} } } : {} },
  );
  if (elicit)
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      const said = await elicit(params.message);
      if (said === undefined) return { action: 'cancel' };
      return { action: 'accept', content: typeof said === 'boolean' ? { approve: said } : said };
    });
  return client;
}

export function toolsOf(client: Client): McpClient {
  return {
    client,
    async call(name, args = {}, options) {
      const { content, structuredContent, isError } = await client.callTool({ name, arguments: args }, options);
      const text = content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
      return { isError: isError === true, text, data: structuredContent };
    },
  };
}

export async function connect(options: McpFrontOptions & { era?: Era; elicit?: Elicit }): Promise<McpClient> {
  const [near, far] = InMemoryTransport.createLinkedPair();
  const served = serveStdio(mcpServerFactory({ logger: keptLog().logger, ...options }), { transport: far });
  const client = newClient(options.era ?? '2026', options.elicit);
  await client.connect(near);
  atEnd(async () => {
    await client.close();
    await served.close();
  });
  return toolsOf(client);
}

export async function connectTo(hub: Hub, owner: string, era: Era = '2026'): Promise<McpClient> {
  const client = newClient(era);
  const authProvider = { token: async () => tokens.issue(owner) };
  await client.connect(new StreamableHTTPClientTransport(new URL('mcp', hub.url), { authProvider }));
  atEnd(() => client.close());
  return toolsOf(client);
}
