// GET /health: whether the bot can work right now.
import { createServer, type Server } from 'node:http';
import { type Client, Status } from 'discord.js';
import { sql } from 'kysely';
import { DiscordBotError, messageOf } from './base/errors.ts';
import type { LiveRuns } from './conversation/live-runs.ts';
import type { BotDatabase } from './store/schema.ts';

interface Health {
  /** Whether a shard is connected. */
  ready: boolean;
  guilds: number;
  /** Answers that are being written. */
  running: number;
  /** Milliseconds to the gateway and back; null before the first beat. */
  ping: number | null;
  database: boolean;
}

export interface HealthServer {
  port: number;
  close(): Promise<void>;
}

interface Looked {
  client: Client;
  db: BotDatabase;
  runs: LiveRuns;
}

async function healthOf({ client, db, runs }: Looked): Promise<Health> {
  const answered = await sql`select 1`.execute(db).catch(() => undefined);
  return {
    // a client stays ready while it tries to get its connection back
    ready: client.isReady() && client.ws.shards.some(({ status }) => status === Status.Ready),
    guilds: client.guilds.cache.size,
    running: runs.size,
    ping: client.ws.ping < 0 ? null : client.ws.ping,
    database: answered !== undefined,
  };
}

export async function serveHealth(port: number, looked: Looked): Promise<HealthServer> {
  const server: Server = createServer((request, response) => {
    const path = request.url?.split('?')[0];
    if (request.method !== 'GET' || (path !== '/health' && path !== '/')) {
      response.writeHead(404).end();
      return;
    }
    healthOf(looked).then(
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
    const text = `POCKET_DISCORD_HEALTH_PORT (healthPort): nothing can listen on ${port}: ${messageOf(cause)}`;
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
