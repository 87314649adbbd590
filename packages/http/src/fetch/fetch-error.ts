// Why a request was refused or given up by us; what the network did comes as `TypeError`, as from `fetch`.

export type FetchErrorCode = 'PRIVATE_ADDRESS' | 'SCHEME' | 'REDIRECT' | 'TIMEOUT' | 'TOO_LARGE';

export class FetchError extends Error {
  override readonly name = 'FetchError';
  readonly code: FetchErrorCode;

  constructor(code: FetchErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
