// What Discord answered when it did not do as it was asked.
import { DiscordAPIError, HTTPError } from 'discord.js';
import { DiscordBotError, messageOf, networkFault } from './errors.ts';

export function isCode(error: unknown, ...codes: (number | string)[]): boolean {
  return error instanceof DiscordAPIError && codes.includes(error.code);
}

/** Asking again would not help. A wrong token says nothing of what was asked. */
export function isRefusal(error: unknown): boolean {
  if (!(error instanceof DiscordAPIError)) return false;
  return error.status >= 400 && error.status < 500 && error.status !== 429 && error.status !== 401;
}

/** `apiUrl` where it is not Discord's own. */
export function loginFailed(cause: unknown, apiUrl: string | undefined): DiscordBotError {
  return new DiscordBotError('LOGIN_FAILED', loginHint(cause, apiUrl), { cause });
}

function loginHint(cause: unknown, apiUrl: string | undefined): string {
  const text = messageOf(cause);
  const fault = networkFault(cause);
  if (fault !== undefined) {
    return apiUrl === undefined
      ? `Discord could not be reached (${fault}). Look whether this machine has a connection, and try again.`
      : `Discord could not be reached at ${apiUrl} (${fault}). That address is set in DISCORD_API_URL.`;
  }
  const refused = 'Discord did not let the bot in';
  if (/token|unauthorized/i.test(text))
    return `${refused}: the token is wrong. Reset it in the Developer Portal under Bot, and set DISCORD_TOKEN.`;
  if (/disallowed intents/i.test(text)) {
    return `${refused}: switch on "Message Content Intent" in the Developer Portal under Bot.`;
  }
  // discord.js reads what any web server sends as if Discord had sent it
  if (cause instanceof TypeError && apiUrl !== undefined) {
    return `${refused}: what ${apiUrl} answers is not Discord's API. Look whether DISCORD_API_URL is its address.`;
  }
  const isAnswer = cause instanceof DiscordAPIError || cause instanceof HTTPError;
  if (isAnswer && apiUrl !== undefined) {
    return `${refused}: ${apiUrl} answered ${cause.status}. Look whether DISCORD_API_URL is the address of its API.`;
  }
  return `${refused}: ${text}`;
}
