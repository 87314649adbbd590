// Connects the official MCP client in memory to our server and a fake Mattermost, in either protocol version.
import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { createMattermostServer, type MattermostConfig, readConfig } from '@pocket-agent/mattermost';
import { onTestFinished } from 'vitest';
import { type FakeMattermost, type FakeOptions, startFakeMattermost } from './fake/fake-mattermost.ts';
import { memoryLog } from './resources.ts';

export type Era = '2025' | '2026';
export const eras: readonly Era[] = ['2025', '2026'];

export interface Answer {
  isError: boolean;
  /** Concatenated text content. */
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: results are plain JSON that tests inspect
  data: any;
  content: { type: string; [field: string]: unknown }[];
}

export interface CallOptions {
  signal?: AbortSignal;
  onprogress?: (update: { progress: number; total?: number | undefined }) => void;
  timeout?: number;
}

export interface Connection {
  fake: FakeMattermost;
  client: Client;
  /** Everything written to the log. */
  logLines: string[];
  call(name: string, args?: Record<string, unknown>, options?: CallOptions): Promise<Answer>;
  close(): Promise<void>;
}

export interface ConnectOptions {
  era?: Era;
  user?: string;
  /** Name of the client in the protocol. */
  clientName?: string;
  fake?: FakeOptions | FakeMattermost;
  environment?: Record<string, string>;
  config?: Partial<MattermostConfig>;
}

export function configFor(
  fake: FakeMattermost,
  { user = 'alice', environment = {}, config = {} }: ConnectOptions = {},
) {
  const base = { MATTERMOST_URL: fake.url, MATTERMOST_TOKEN: fake.token(user), MATTERMOST_LOG_LEVEL: 'debug' };
  return { ...readConfig({ ...base, ...environment }), backoffMs: 2, ...config };
}

export function newClient(era: Era, name = 'tests'): Client {
  const pinned = { versionNegotiation: { mode: { pin: '2026-07-28' } } } as const;
  return new Client({ name, version: '1' }, era === '2026' ? pinned : {});
}

/** Closes the connection at the end of the current test. */
export async function connectForTest(options: ConnectOptions = {}): Promise<Connection> {
  const connection = await connect(options);
  onTestFinished(() => connection.close());
  return connection;
}

export async function connect(options: ConnectOptions = {}): Promise<Connection> {
  const given = options.fake;
  const fake = given && 'requests' in given ? given : await startFakeMattermost(given);
  const { log, logLines } = memoryLog();
  const server = createMattermostServer(configFor(fake, options), { log });
  const [near, far] = InMemoryTransport.createLinkedPair();
  const served = serveStdio(server.factory, { transport: far });
  const client = newClient(options.era ?? '2026', options.clientName);
  await client.connect(near);
  return {
    fake,
    client,
    logLines,
    call: (name, args = {}, callOptions) => callTool(client, { name, args, ...(callOptions ? { callOptions } : {}) }),
    async close() {
      await client.close();
      await served.close();
      server.close();
      if (fake !== given) await fake.close();
    },
  };
}

export async function callTool(
  client: Client,
  { name, args = {}, callOptions }: { name: string; args?: Record<string, unknown>; callOptions?: CallOptions },
): Promise<Answer> {
  const result = await client.callTool({ name, arguments: args }, callOptions);
  const content = result.content as Answer['content'];
  const text = content.map((block) => (typeof block.text === 'string' ? block.text : '')).join('\n');
  return { isError: result.isError === true, text, data: result.structuredContent, content };
}
