// How much one person and one guild may ask.
import type { BotParts } from '../parts.ts';
import type { Place } from './key.ts';

const MINUTE_MS = 60_000;

/** Why somebody has to wait, or nothing. */
export async function overLimit(
  { claims, options }: BotParts,
  { userId, guildId }: Place,
): Promise<string | undefined> {
  const { perUserPerMinute = 10, perGuildPerMinute = 120, waitingPerUser = 3 } = options.limits ?? {};
  const since = Date.now() - MINUTE_MS;
  if ((await claims.countWaiting(userId)) >= waitingPerUser) {
    return `-# ${waitingPerUser} of your questions are waiting already. Let me answer those first.`;
  }
  if ((await claims.countSince({ userId }, since)) >= perUserPerMinute) {
    return `-# You can ask ${perUserPerMinute} times a minute. Give me a moment.`;
  }
  if (guildId !== null && (await claims.countSince({ guildId }, since)) >= perGuildPerMinute) {
    return `-# This server can ask ${perGuildPerMinute} times a minute. Give me a moment.`;
  }
  return undefined;
}
