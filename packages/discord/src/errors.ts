// The one error class of the bot. Programs branch on `code`; people read `message`, which names the way out.

export type DiscordBotErrorCode = 'CONFIG_INVALID' | 'LOGIN_FAILED' | 'REFUSED' | 'GONE';

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
