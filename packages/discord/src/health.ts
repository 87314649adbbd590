// GET /health: whether the bot works.
import { createServer, type Server } from 'node:http';
import { errorText } from '@pocket-agent/kit';
import { type Client, Status } from 'discord.js';
import { sql } from 'kysely';
import { DiscordBotError } from './base/errors.ts';
import type { LiveRuns } from './conversation/live-runs.ts';
import type { BotDatabase } from './store/schema.ts';

interface Health {
  /** Whether a shard is connected. */
  ready: boolean;
  guilds: number;
  /** Answers in progress. */
  running: number;
  /** Round trip to the gateway in milliseconds; null before the first heartbeat. */
  ping: number | null;
  database: boolean;
}

export interface HealthServer {
  port: number;
  close(): Promise<void>;
}

interface HealthSources {
  client: Client;
  db: BotDatabase;
  runs: LiveRuns;
}

async function healthOf({ client, db, runs }: HealthSources): Promise<Health> {
  const answered = await sql`select 1`.execute(db).catch(() => undefined);
  return {
    // isReady stays true while a client reconnects
    ready: client.isReady() && client.ws.shards.some(({ status }) => status === Status.Ready),
    guilds: client.guilds.cache.size,
    running: runs.size,
    ping: client.ws.ping < 0 ? null : client.ws.ping,
    database: answered !== undefined,
  };
}

export async function serveHealth(port: number, sources: HealthSources): Promise<HealthServer> {
  const server: Server = createServer((request, response) => {
    const path = request.url?.split('?')[0];
    if (request.method !== 'GET' || (path !== '/health' && path !== '/')) {
      response.writeHead(404).end();
      return;
    }
    healthOf(sources).then(
      (health) => {
        response.writeHead(health.ready && health.database ? 200 : 503, { 'content-type': 'application/json' });
        response.end(JSON.stringify(health));
      },
      () => response.writeHead(503).end(),
    );
  });
  try {
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, resolve));
  } catch (cause) {
    const text = `POCKET_DISCORD_HEALTH_PORT (healthPort): cannot listen on port ${port}: ${errorText(cause)}`;
    throw new DiscordBotError('CONFIG_INVALID', text, { cause });
  }
  const address = server.address();
  return {
    port: typeof address === 'object' && address ? address.port : port,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
