// Explains a failure to the user in safe words, and to the log in detail.

import { errorText } from '@pocket-agent/kit';
import { isPocketError, type PocketErrorCode, redactSecrets } from 'pocket-agent';
import { DiscordBotError } from '../base/errors.ts';

interface FailureContext {
  /** The id of the log entry. */
  id: string;
  /** Whether the user can choose another model. */
  hasChoice: boolean;
}

/** Errors whose text we write; it contains no text of users and providers. */
const SAFE_CODES: readonly PocketErrorCode[] = [
  'CONFIG_INVALID',
  'MODEL_UNKNOWN',
  'MODEL_PACKAGE_MISSING',
  'MODEL_KEY_MISSING',
  'PRICE_UNKNOWN',
  'BUDGET_REACHED',
  'MAX_STEPS',
  'TIMEOUT',
];
/** Errors about the account at the provider: wrong key, no credit, unknown model, rate limit. */
const ACCOUNT_STATUSES = [401, 402, 403, 404, 429];
const MAX_DETAIL_LENGTH = 300;
const KEY = /\b(?=[\w*-]*\d)[\w*-]{16,}/g;

export function failureText(error: unknown, { id, hasChoice }: FailureContext): string {
  const other = hasChoice ? 'Choose another with /model.' : 'Ask the operator of this bot.';
  if (error instanceof DiscordBotError && error.code === 'REFUSED') return error.message;
  if (isPocketError(error)) {
    switch (error.code) {
      case 'BUDGET_REACHED':
        return "I stopped, because this answer would have exceeded today's budget.";
      case 'PRICE_UNKNOWN':
        return `There is a budget here, but the price of this model is unknown. ${other}`;
      case 'MODEL_KEY_MISSING':
      case 'MODEL_PACKAGE_MISSING':
      case 'MODEL_UNKNOWN':
        return `This model is not set up here. ${other}`;
      case 'RATE_LIMITED':
        return 'The model is overloaded. Try again in a minute.';
      case 'TIMEOUT':
        return 'I stopped, because the answer took too long.';
      case 'MAX_STEPS':
        return 'I stopped, because I reached the limit of tool calls without an answer.';
      case 'ANSWER_CUT_OFF':
        return 'The answer was cut off, because it exceeded the output limit of the model.';
      case 'ANSWER_FILTERED':
        return 'The provider of the model blocked the answer.';
    }
  }
  const advice = hasChoice ? 'Try again, or choose another model with /model.' : 'Try again.';
  return `Something went wrong; the log has details under ${id}. ${advice}`;
}

/** Fields for the log, without text of providers and tools that may repeat what users wrote. */
export function failureFields(error: unknown): { reason: string; status?: number; detail?: string } {
  // a refusal may repeat what a user typed
  if (error instanceof DiscordBotError)
    return { reason: error.code, ...(error.code === 'REFUSED' ? {} : { detail: error.message }) };
  if (!isPocketError(error))
    return { reason: error instanceof Error ? redactSecrets(`${error.name}: ${error.message}`) : 'unknown' };
  const { code, message, cause, details } = error;
  const variable = code === 'PRICE_UNKNOWN' ? ' (POCKET_DISCORD_PRICES)' : '';
  if (SAFE_CODES.includes(code)) return { reason: code, detail: `${message}${variable}` };
  const status = Number(details.statusCode);
  if (!(status >= 400)) return { reason: code };
  if (!ACCOUNT_STATUSES.includes(status)) return { reason: code, status };
  const detail = redactSecrets(errorText(cause)).replaceAll(KEY, '[key]').slice(0, MAX_DETAIL_LENGTH).toWellFormed();
  return { reason: code, status, detail };
}
