// Why there is no answer, in words for the person who asked. What a stranger must not read stays in the log.
import { isPocketError } from 'pocket-agent';
import { DiscordBotError } from '../errors.ts';

export function failureText(error: unknown, claim: string): string {
  if (error instanceof DiscordBotError && error.code === 'REFUSED') return error.message;
  if (isPocketError(error)) {
    switch (error.code) {
      case 'BUDGET_REACHED':
        return 'That answer would have cost more than is left for today, so I stopped.';
      case 'PRICE_UNKNOWN':
        return 'There is a budget here, and nobody knows what this model costs. Choose another with /model.';
      case 'MODEL_KEY_MISSING':
      case 'MODEL_PACKAGE_MISSING':
      case 'MODEL_UNKNOWN':
        return 'This model is not set up here. Choose another with /model.';
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
  return `Something went wrong, and it is in the log as ${claim}. Try again, or choose another /model.`;
}

/** For the log: codes and statuses. What providers and tools say may repeat what people wrote. */
export function reasonOf(error: unknown): string {
  if (isPocketError(error)) return error.code;
  return error instanceof Error ? `${error.name}: ${error.message}` : 'unknown';
}
