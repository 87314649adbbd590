// What Discord answered when it did not do as it was asked.
import { DiscordAPIError } from 'discord.js';

export function isCode(error: unknown, ...codes: (number | string)[]): boolean {
  return error instanceof DiscordAPIError && codes.includes(error.code);
}

/** Asking again would not help. */
export function isRefusal(error: unknown): boolean {
  return error instanceof DiscordAPIError && error.status >= 400 && error.status < 500 && error.status !== 429;
}
