// A start that has to wait for Discord says so, and why.
import { type REST, RESTEvents } from 'discord.js';
import type { Logger } from 'pocket-agent';

const PATIENCE_MS = 5_000;

/** Told after a while, and again when the reason is another one. Returns what ends it. */
export function tellWaiting(rest: REST, logger: Logger): () => void {
  let reason = 'it does not answer';
  let told = '';
  const look = (
    _request: unknown,
    { status, headers }: { status: number; headers: { get(name: string): unknown } },
  ) => {
    if (status === 429)
      reason = `too many requests (429); it wants to be asked again in ${headers.get('retry-after')} s`;
    else reason = status < 300 ? 'its gateway has not let the bot in yet' : `it answered ${status}`;
  };
  const timer = setInterval(() => {
    if (reason !== told) logger.warn('Still waiting for Discord', { reason });
    told = reason;
  }, PATIENCE_MS).unref();
  rest.on(RESTEvents.Response, look);
  return () => {
    clearInterval(timer);
    rest.off(RESTEvents.Response, look);
  };
}
