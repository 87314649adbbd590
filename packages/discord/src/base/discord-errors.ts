// Errors of the Discord API: their classification, and texts for users.
import { errorText } from '@pocket-agent/kit';
import { DiscordAPIError, HTTPError } from 'discord.js';
import { DiscordBotError, networkError } from './errors.ts';

export function hasErrorCode(error: unknown, ...codes: (number | string)[]): boolean {
  return error instanceof DiscordAPIError && codes.includes(error.code);
}

/**
 * Whether Discord itself refused the request, so that a retry cannot help. An answer without an error code of Discord
 * comes from a proxy and says nothing about the request; neither does a wrong token (401).
 */
export function isRefusal(error: unknown): boolean {
  return isClientError(error) && hasDiscordCode(error);
}

/** Why a request was refused, on one line: Discord's message and the first field it names. */
export function refusalReason(error: unknown): string {
  if (!(error instanceof DiscordAPIError)) return errorText(error);
  if (!hasDiscordCode(error)) return `a proxy in front of Discord answered ${error.status}`;
  const { message, errors } = rawError(error);
  const field = firstFieldError(errors);
  return field ? `${message} (${field.path.join('.')}: ${field.message})` : message.replace(/\.$/, '');
}

interface FieldError {
  /** The path in the request body: `['content']`, `['0', 'options', '1', 'name']`. */
  path: string[];
  message: string;
}

/** The first field that Discord names in an "Invalid Form Body" error. */
export function firstFieldError(errors: unknown, path: string[] = []): FieldError | undefined {
  if (typeof errors !== 'object' || errors === null) return undefined;
  for (const [key, value] of Object.entries(errors)) {
    if (key === '_errors' && Array.isArray(value)) return { path, message: String(value[0]?.message ?? 'invalid') };
    const field = firstFieldError(value, [...path, key]);
    if (field) return field;
  }
  return undefined;
}

export function rawError({ rawError }: DiscordAPIError): { message: string; errors?: unknown } {
  return 'message' in rawError ? rawError : { message: rawError.error };
}

/** A 4xx answer of Discord or of a proxy, except 401 and 429. */
export function isClientError(error: unknown): error is DiscordAPIError {
  if (!(error instanceof DiscordAPIError)) return false;
  return error.status >= 400 && error.status < 500 && error.status !== 429 && error.status !== 401;
}

/** Discord's error codes have five digits or more, or are 0 for a general error. */
function hasDiscordCode({ code }: DiscordAPIError): boolean {
  return code === 0 || Number(code) >= 10_000;
}

/** `apiUrl` is set if the bot uses an API other than Discord's. */
export function loginError(cause: unknown, apiUrl: string | undefined): DiscordBotError {
  return new DiscordBotError('LOGIN_FAILED', loginHint(cause, apiUrl), { cause });
}

function loginHint(cause: unknown, apiUrl: string | undefined): string {
  const text = errorText(cause);
  const reason = networkError(cause);
  if (reason !== undefined) {
    return apiUrl === undefined
      ? `Discord could not be reached (${reason}). Check the network connection of this machine and try again.`
      : `Discord could not be reached at ${apiUrl} (${reason}). The address comes from DISCORD_API_URL.`;
  }
  const rejected = 'Discord rejected the login';
  if (/token|unauthorized/i.test(text))
    return `${rejected}: the token is wrong. Reset it in the Developer Portal under Bot and set DISCORD_TOKEN.`;
  if (/disallowed intents/i.test(text)) {
    return `${rejected}: switch on "Message Content Intent" in the Developer Portal under Bot.`;
  }
  // discord.js parses the answer of any web server as if it came from Discord
  if (cause instanceof TypeError && apiUrl !== undefined) {
    return `${rejected}: ${apiUrl} does not answer like Discord's API. Check DISCORD_API_URL.`;
  }
  const isAnswer = cause instanceof DiscordAPIError || cause instanceof HTTPError;
  if (isAnswer && apiUrl !== undefined) {
    return `${rejected}: ${apiUrl} answered ${cause.status}. Check DISCORD_API_URL.`;
  }
  return `${rejected}: ${text}`;
}
