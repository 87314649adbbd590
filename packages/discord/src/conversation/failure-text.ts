// Why there is no answer, in words for the person who asked. What a stranger must not read stays in the log.
import { isPocketError, type PocketErrorCode, redactSecrets } from 'pocket-agent';
import { DiscordBotError, messageOf } from '../base/errors.ts';

interface Failed {
  /** Under which it stands in the log. */
  id: string;
  /** Whether there is another model to choose. */
  hasChoice: boolean;
}

/** Texts of ours about what the operator has set. */
const TOLD: readonly PocketErrorCode[] = [
  'CONFIG_INVALID',
  'MODEL_UNKNOWN',
  'MODEL_PACKAGE_MISSING',
  'MODEL_KEY_MISSING',
  'PRICE_UNKNOWN',
  'BUDGET_REACHED',
  'MAX_STEPS',
  'TIMEOUT',
];
/** Of a provider that refuses whatever it is asked: a wrong key, no money, an unknown model, too much at once. */
const OF_THE_ACCOUNT = [401, 402, 403, 404, 429];
const LONGEST = 300;
const KEY = /\b(?=[\w*-]*\d)[\w*-]{16,}/g;

export function failureText(error: unknown, { id, hasChoice }: Failed): string {
  const other = hasChoice ? 'Choose another with /model.' : 'Ask whoever runs this bot.';
  if (error instanceof DiscordBotError && error.code === 'REFUSED') return error.message;
  if (isPocketError(error)) {
    switch (error.code) {
      case 'BUDGET_REACHED':
        return 'That answer would have cost more than is left for today, so I stopped.';
      case 'PRICE_UNKNOWN':
        return `There is a budget here, and nobody knows what this model costs. ${other}`;
      case 'MODEL_KEY_MISSING':
      case 'MODEL_PACKAGE_MISSING':
      case 'MODEL_UNKNOWN':
        return `This model is not set up here. ${other}`;
      case 'RATE_LIMITED':
        return 'The model has too much to do right now. Try again in a minute.';
      case 'TIMEOUT':
        return 'That took too long, so I stopped.';
      case 'MAX_STEPS':
        return 'I used tools again and again without coming to an end, so I stopped.';
      case 'ANSWER_CUT_OFF':
        return 'The answer was longer than the model may write; this is its beginning.';
      case 'ANSWER_FILTERED':
        return 'The provider of the model held the answer back.';
    }
  }
  const wayOut = hasChoice ? 'Try again, or choose another /model.' : 'Try again.';
  return `Something went wrong, and it is in the log as ${id}. ${wayOut}`;
}

/** For the log. What providers and tools say may repeat what people wrote, so most of it is left out. */
export function reasonOf(error: unknown): { reason: string; status?: number; detail?: string } {
  // a refusal may repeat what somebody typed
  if (error instanceof DiscordBotError)
    return { reason: error.code, ...(error.code === 'REFUSED' ? {} : { detail: error.message }) };
  if (!isPocketError(error))
    return { reason: error instanceof Error ? redactSecrets(`${error.name}: ${error.message}`) : 'unknown' };
  const { code, message, cause, details } = error;
  const variable = code === 'PRICE_UNKNOWN' ? ' (POCKET_DISCORD_PRICES)' : '';
  if (TOLD.includes(code)) return { reason: code, detail: `${message}${variable}` };
  const status = Number(details.statusCode);
  if (!(status >= 400)) return { reason: code };
  if (!OF_THE_ACCOUNT.includes(status)) return { reason: code, status };
  const said = redactSecrets(messageOf(cause)).replaceAll(KEY, '[key]').slice(0, LONGEST).toWellFormed();
  return { reason: code, status, detail: said };
}
