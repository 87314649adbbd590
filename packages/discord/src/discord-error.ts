// What Discord answered when it did not do as it was asked.
import { DiscordAPIError } from 'discord.js';
import { DiscordBotError, messageOf } from './errors.ts';

export function isCode(error: unknown, ...codes: (number | string)[]): boolean {
  return error instanceof DiscordAPIError && codes.includes(error.code);
}

/** Asking again would not help. A wrong token says nothing of what was asked. */
export function isRefusal(error: unknown): boolean {
  if (!(error instanceof DiscordAPIError)) return false;
  return error.status >= 400 && error.status < 500 && error.status !== 429 && error.status !== 401;
}

export function loginRefused(cause: unknown): DiscordBotError {
  return new DiscordBotError('LOGIN_FAILED', `Discord did not let the bot in: ${loginHint(cause)}`, { cause });
}

function loginHint(cause: unknown): string {
  const text = messageOf(cause);
  if (/token|unauthorized/i.test(text))
    return 'the token is wrong. Reset it in the Developer Portal under Bot, and set DISCORD_TOKEN.';
  if (/disallowed intents/i.test(text)) {
    return 'switch on "Message Content Intent" in the Developer Portal under Bot.';
  }
  return text;
}
