// The error class of the bot. Programs branch on `code`; people read `message`, which says how to fix the problem.
import { CodedError } from '@pocket-agent/kit';

/** Why the bot could not start, or refused something. */
export type DiscordBotErrorCode =
  | 'CONFIG_INVALID'
  | 'LOGIN_FAILED'
  | 'COMMANDS_REFUSED'
  | 'DATABASE_FAILED'
  | 'REFUSED'
  | 'GONE';

export class DiscordBotError extends CodedError<DiscordBotErrorCode> {
  override readonly name = 'DiscordBotError';
}

/** The network error code, for example `ECONNREFUSED`, of an error or its causes. */
export function networkError(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = 'code' in error ? String(error.code) : '';
  if (/^(E[A-Z_]+|UND_ERR_\w+)$/.test(code) && !code.startsWith('ERR')) return code;
  if (error.name === 'AbortError' || error.name === 'TimeoutError') return 'no answer in time';
  if (error instanceof AggregateError) return networkError(error.errors[0]);
  return networkError(error.cause);
}

const SAFE_NAME = /^[\w.-]{1,60}$/;
const STACK_FRAME = /^\s+at .*:\d+:\d+\)?$/;
const MAX_FRAMES = 5;

/** Name, code and stack frames of an error, without its message, which may repeat text that users wrote. */
export function errorKind(error: unknown): { error: string; code?: string; at?: string[] } {
  if (!(error instanceof Error)) return { error: typeof error };
  const [name, message, stack] = [String(error.name), String(error.message), String(error.stack)];
  const code = 'code' in error ? String(error.code) : '';
  // the frames follow the message, which may contain lines that look like frames
  const from = stack.indexOf(message);
  const [, ...lines] = from < 0 ? [] : stack.slice(from + message.length).split('\n');
  const at = lines.filter((line) => STACK_FRAME.test(line)).slice(0, MAX_FRAMES);
  return {
    error: SAFE_NAME.test(name) ? name : 'Error',
    ...(SAFE_NAME.test(code) ? { code } : {}),
    at: at.map((line) => line.trim()),
  };
}
