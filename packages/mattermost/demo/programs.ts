// The programs of the demo: the MCP server, a client of it, and the bot.
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { openRuns } from '@pocket-agent/runs';
import { PocketAgent } from 'pocket-agent';
import { createMattermostBot } from '../src/bot/index.ts';
import { createLog, type RunningServer, readConfig, startHttp } from '../src/index.ts';
import type { FakeMattermost } from '../test/fake/fake-mattermost.ts';
import { ruleModel, yesterday } from './model.ts';

export const COMMAND_TOKEN = 'the-token-of-the-command';

const quietLog = { debug() {}, warning() {}, error() {} };
const quietLogger = { debug() {}, info() {}, warn() {}, error() {} };

/** Each client sends the token of its account. */
export function startServer({ url }: FakeMattermost): Promise<RunningServer> {
  const config = readConfig({
    MATTERMOST_URL: url,
    MATTERMOST_AUTH_MODE: 'client_token',
    MATTERMOST_DEFAULT_TEAM: 'acme',
    MATTERMOST_READ_DENY_CHANNELS: 'payroll',
    MCP_TRANSPORT: 'http',
    MCP_PORT: '0',
  });
  return startHttp(config, { log: createLog({ level: 'error', format: 'text' }) });
}

interface ClientOptions {
  /** Of the server. */
  url: string;
  /** Of the account. */
  token: string;
  print(line: string): void;
}

interface Digest {
  channels: { name: string; new_messages: number; mentions?: number; people: string[] }[];
}

export async function showTools({ url, token, print }: ClientOptions): Promise<void> {
  const headers = { authorization: `Bearer ${token}` };
  const client = new Client({ name: 'demo', version: '1.0.0' });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  try {
    const ask = async (name: string, args: Record<string, unknown>) =>
      client.callTool({ name, arguments: args }) as Promise<{
        content: { text?: string }[];
        structuredContent?: unknown;
      }>;
    const { tools } = await client.listTools();
    const kilobytes = Math.ceil(JSON.stringify({ tools }).length / 1000);
    print(`tools/list        ${tools.length} tools in ${kilobytes} kB; rarer ones on request`);
    const { channels } = (await ask('get_digest', { since: yesterday() })).structuredContent as Digest;
    for (const [index, { name, new_messages, mentions, people }] of channels.entries()) {
      const mentioned = mentions === undefined ? '' : `, ${mentions} mention`;
      print(
        `${(index === 0 ? 'get_digest' : '').padEnd(16)}  ${name}: ${new_messages} new${mentioned}, by ${people.join(', ')}`,
      );
    }
    print(`resolve ~payroll  ${(await ask('resolve', { reference: '~payroll' })).content[0]?.text}`);
  } finally {
    await client.close();
  }
}

export interface RunningBot {
  /** Where Mattermost reaches it. */
  callbacks: string;
  close(): Promise<void>;
}

interface RunOptions {
  fake: FakeMattermost;
  /** Of the runs. */
  folder: string;
  /** Port for callbacks; 0 for any. */
  port: string;
  /** Of the MCP server. */
  url: string;
}

/** A bot with durable runs, whose agent uses the MCP server with the account of the bot. */
export async function startBot({ fake, folder, port, url }: RunOptions): Promise<RunningBot> {
  const token = fake.token('helper');
  const headers = { authorization: `Bearer ${token}` };
  const makeAgent = () =>
    new PocketAgent({
      llmModel: ruleModel(),
      mcpServers: { mattermost: { url, headers } },
      access: { profile: 'writer', confirm: 'write' },
      logger: quietLogger,
    });
  const runs = await openRuns({
    url: `sqlite:${join(folder, 'runs.db')}`,
    agents: { helper: makeAgent },
    logger: quietLogger,
  });
  let callbacks = '';
  const log = {
    ...quietLog,
    info(message: string, fields: { url?: unknown } = {}) {
      if (message === 'callbacks') callbacks = String(fields.url);
    },
  };
  const bot = await createMattermostBot({
    config: readConfig({ MATTERMOST_URL: fake.url, MATTERMOST_TOKEN: token }),
    durable: { runs, agent: 'helper' },
    callbacks: { listen: port, commandToken: COMMAND_TOKEN },
    log,
  });
  return {
    callbacks,
    async close() {
      await bot.close();
      await runs.close();
    },
  };
}
