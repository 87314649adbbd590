// StoreError. Programs branch on `code`; no message contains a database URL.

export type StoreErrorCode =
  | 'CONFIG_INVALID'
  | 'PACKAGE_MISSING'
  | 'OPEN_FAILED'
  | 'BUSY'
  | 'NEWER_DATABASE'
  | 'MIGRATION_FAILED';

export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string, options: { cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
  }
}
