// Logs why the connection to Discord takes long.
import { type REST, RESTEvents } from 'discord.js';
import type { Logger } from 'pocket-agent';

const INTERVAL_MS = 5_000;

/** Logs every five seconds if the reason has changed. Returns a function that ends it. */
export function warnWhileConnecting(rest: REST, logger: Logger): () => void {
  let reason = 'no answer';
  let logged = '';
  const onResponse = (
    _request: unknown,
    { status, headers }: { status: number; headers: { get(name: string): unknown } },
  ) => {
    if (status === 429) reason = `rate limited (429); retry after ${headers.get('retry-after')} s`;
    else reason = status < 300 ? 'the gateway has not accepted the bot yet' : `status ${status}`;
  };
  const timer = setInterval(() => {
    if (reason !== logged) logger.warn('Waiting for Discord', { reason });
    logged = reason;
  }, INTERVAL_MS).unref();
  rest.on(RESTEvents.Response, onResponse);
  return () => {
    clearInterval(timer);
    rest.off(RESTEvents.Response, onResponse);
  };
}
