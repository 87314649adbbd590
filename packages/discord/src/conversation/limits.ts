// How much one person and one guild may ask.
import type { BotParts } from '../parts.ts';
import type { Place } from './key.ts';

const MINUTE_MS = 60_000;

export interface OverLimit {
  reason: string;
  /** They were told already, and answering them again and again would slow down everybody. */
  isTold: boolean;
}

/** Why somebody has to wait, or nothing. */
export async function overLimit(
  { claims, options }: BotParts,
  { userId, guildId }: Place,
): Promise<OverLimit | undefined> {
  const { perUserPerMinute = 10, perGuildPerMinute = 120, waitingPerUser = 3 } = options.limits ?? {};
  const since = Date.now() - MINUTE_MS;
  const asked = await claims.countSince({ userId }, since);
  if ((await claims.countWaiting(userId)) >= waitingPerUser) {
    const reason = `-# ${waitingPerUser} of your questions are waiting already. Let me answer those first.`;
    return { reason, isTold: asked > perUserPerMinute };
  }
  if (asked >= perUserPerMinute) {
    const reason = `-# You can ask ${perUserPerMinute} times a minute. Give me a moment.`;
    return { reason, isTold: asked > perUserPerMinute };
  }
  if (guildId !== null && (await claims.countSince({ guildId }, since)) >= perGuildPerMinute) {
    return { reason: `-# This server can ask ${perGuildPerMinute} times a minute. Give me a moment.`, isTold: false };
  }
  return undefined;
}
