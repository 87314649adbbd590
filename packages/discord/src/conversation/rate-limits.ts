// How much one person and one guild may ask.

import type { Place } from '../store/conversation-key.ts';
import type { BotParts } from './parts.ts';

const MINUTE_MS = 60_000;

interface OverLimit {
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
  const { taken, refused } = await claims.countSince({ userId }, since);
  const isTold = refused > 0;
  if ((await claims.countWaiting(userId)) >= waitingPerUser) {
    const reason = `-# ${waitingPerUser} of your questions are waiting already. Let me answer those first.`;
    return { reason, isTold };
  }
  if (taken >= perUserPerMinute) {
    return { reason: `-# You can ask ${perUserPerMinute} times a minute. Give me a moment.`, isTold };
  }
  // what one person was refused must not silence the others
  if (guildId !== null && (await claims.countSince({ guildId }, since)).taken >= perGuildPerMinute) {
    const reason = `-# This server can ask ${perGuildPerMinute} times a minute. Give me a moment.`;
    return { reason, isTold };
  }
  return undefined;
}
