// The error of a request that we refused or ended. Network errors are `TypeError`s, as with the built-in `fetch`.

export type FetchErrorCode = 'PRIVATE_ADDRESS' | 'SCHEME' | 'REDIRECT' | 'TIMEOUT' | 'TOO_LARGE';

export class FetchError extends Error {
  override readonly name = 'FetchError';
  readonly code: FetchErrorCode;

  constructor(code: FetchErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
