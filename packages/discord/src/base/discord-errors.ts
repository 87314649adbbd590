// What Discord answered when it did not do as it was asked.
import { DiscordAPIError, HTTPError } from 'discord.js';
import { DiscordBotError, messageOf, networkFault } from './errors.ts';

export function isCode(error: unknown, ...codes: (number | string)[]): boolean {
  return error instanceof DiscordAPIError && codes.includes(error.code);
}

/**
 * Asking again would not help: Discord itself refuses it. What a proxy answers has no error code of Discord and says
 * nothing of the request; a wrong token does not either.
 */
export function isRefusal(error: unknown): boolean {
  return isClientError(error) && hasDiscordCode(error);
}

/** Why a request was refused, on one line: Discord's sentence, and the first field it names. */
export function refusalReason(error: unknown): string {
  if (!(error instanceof DiscordAPIError)) return messageOf(error);
  if (!hasDiscordCode(error)) return `something between me and Discord answered ${error.status}`;
  const { message, errors } = rawError(error);
  const fault = firstFault(errors);
  return fault ? `${message} (${fault.path.join('.')}: ${fault.message})` : message.replace(/\.$/, '');
}

interface FieldFault {
  /** Where in the body: `['content']`, `['0', 'options', '1', 'name']`. */
  path: string[];
  message: string;
}

/** The first field that an "Invalid Form Body" of Discord names. */
export function firstFault(errors: unknown, path: string[] = []): FieldFault | undefined {
  if (typeof errors !== 'object' || errors === null) return undefined;
  for (const [key, value] of Object.entries(errors)) {
    if (key === '_errors' && Array.isArray(value)) return { path, message: String(value[0]?.message ?? 'invalid') };
    const fault = firstFault(value, [...path, key]);
    if (fault) return fault;
  }
  return undefined;
}

export function rawError({ rawError }: DiscordAPIError): { message: string; errors?: unknown } {
  return 'message' in rawError ? rawError : { message: rawError.error };
}

/** A refusal of Discord, or of something between the bot and Discord. */
export function isClientError(error: unknown): error is DiscordAPIError {
  if (!(error instanceof DiscordAPIError)) return false;
  return error.status >= 400 && error.status < 500 && error.status !== 429 && error.status !== 401;
}

/** Discord's codes have five digits or more, and 0 where there is nothing more to say. */
function hasDiscordCode({ code }: DiscordAPIError): boolean {
  return code === 0 || Number(code) >= 10_000;
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
