// GET /health: whether the bot can work right now.
import { createServer, type Server } from 'node:http';
import { DiscordBotError, messageOf } from './errors.ts';

export interface Health {
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

export async function serveHealth(port: number, look: () => Promise<Health>): Promise<HealthServer> {
  const server: Server = createServer((request, response) => {
    const path = request.url?.split('?')[0];
    if (request.method !== 'GET' || (path !== '/health' && path !== '/')) {
      response.writeHead(404).end();
      return;
    }
    look().then(
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
    const text = `healthPort (POCKET_DISCORD_HEALTH_PORT): nothing can listen on ${port}: ${messageOf(cause)}`;
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
