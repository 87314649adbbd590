// The one error class of the bot. Programs branch on `code`; people read `message`, which names the way out.

export type DiscordBotErrorCode =
  | 'CONFIG_INVALID'
  | 'LOGIN_FAILED'
  | 'COMMANDS_REFUSED'
  | 'DATABASE_FAILED'
  | 'REFUSED'
  | 'GONE';

export class DiscordBotError extends Error {
  override readonly name = 'DiscordBotError';
  readonly code: DiscordBotErrorCode;

  constructor(code: DiscordBotErrorCode, message: string, options: { cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** What is wrong in the network, for example `ECONNREFUSED`, as far as an error or its causes tell. */
export function networkFault(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = 'code' in error ? String(error.code) : '';
  if (/^(E[A-Z_]+|UND_ERR_\w+)$/.test(code) && !code.startsWith('ERR')) return code;
  if (error.name === 'AbortError' || error.name === 'TimeoutError') return 'no answer in time';
  if (error instanceof AggregateError) return networkFault(error.errors[0]);
  return networkFault(error.cause);
}

const WORD = /^[\w.-]{1,60}$/;
const FRAME = /^\s+at .*:\d+:\d+\)?$/;
const FRAMES = 5;

/** All that can be told of an error without its text, which may repeat what people wrote. */
export function kindOf(error: unknown): { error: string; code?: string; at?: string[] } {
  if (!(error instanceof Error)) return { error: typeof error };
  const [name, message, stack] = [String(error.name), String(error.message), String(error.stack)];
  const code = 'code' in error ? String(error.code) : '';
  // the frames stand after the text, whose lines may look like frames
  const from = stack.indexOf(message);
  const [, ...lines] = from < 0 ? [] : stack.slice(from + message.length).split('\n');
  const at = lines.filter((line) => FRAME.test(line)).slice(0, FRAMES);
  return {
    error: WORD.test(name) ? name : 'Error',
    ...(WORD.test(code) ? { code } : {}),
    at: at.map((line) => line.trim()),
  };
}
