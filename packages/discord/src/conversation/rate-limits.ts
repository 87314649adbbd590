// Limits on questions per user and per guild.

import type { Place } from '../store/conversation-key.ts';
import type { BotParts } from './parts.ts';

const MINUTE_MS = 60_000;

interface ExceededLimit {
  reason: string;
  /** A question of the user was refused in the last minute; another notice would use up the rate limit of the channel. */
  wasNotified: boolean;
}

/** The limit that a user or guild has reached, if any. */
export async function exceededLimit(
  { claims, options }: BotParts,
  { userId, guildId }: Place,
): Promise<ExceededLimit | undefined> {
  const { perUserPerMinute = 10, perGuildPerMinute = 120, waitingPerUser = 3 } = options.limits ?? {};
  const since = Date.now() - MINUTE_MS;
  const { accepted, refused } = await claims.countSince({ userId }, since);
  const wasNotified = refused > 0;
  if ((await claims.countPending(userId)) >= waitingPerUser) {
    const reason = `-# You already have ${waitingPerUser} open questions. Wait for those answers first.`;
    return { reason, wasNotified };
  }
  if (accepted >= perUserPerMinute) {
    return { reason: `-# You can ask ${perUserPerMinute} questions per minute. Try again in a moment.`, wasNotified };
  }
  // refusals of one user must not silence the others
  if (guildId !== null && (await claims.countSince({ guildId }, since)).accepted >= perGuildPerMinute) {
    const reason = `-# This server can ask ${perGuildPerMinute} questions per minute. Try again in a moment.`;
    return { reason, wasNotified };
  }
  return undefined;
}
