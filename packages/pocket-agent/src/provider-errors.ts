// What the errors of providers tell beside their text: headers, how long to wait, a status inside a stream.

/** The response headers that an error carries, with names in small letters. */
export function headersOf(error: unknown): Record<string, string> {
  const headers =
    typeof error === 'object' && error !== null && 'responseHeaders' in error ? error.responseHeaders : undefined;
  if (typeof headers !== 'object' || headers === null) return {};
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]));
}

export function retryAfterMs(headers: Record<string, string>): number | undefined {
  const ms = Number.parseFloat(headers['retry-after-ms'] ?? '');
  if (ms >= 0) return ms;
  const value = headers['retry-after'];
  if (value === undefined) return undefined;
  const seconds = Number(value);
  const wait = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(value) - Date.now();
  return Number.isFinite(wait) ? Math.max(0, wait) : undefined;
}

/** Providers put plain objects into their streams in place of errors. */
export function streamError(error: unknown): Error {
  if (error instanceof Error) return error;
  if (typeof error !== 'object' || error === null) return new Error(String(error));
  const { message, ...facts } = { message: undefined, code: undefined, ...error };
  const text = typeof message === 'string' ? message : JSON.stringify(error);
  const status = Number(facts.code);
  return Object.assign(new Error(text), status >= 400 && status < 600 ? { statusCode: status } : {}, facts);
}
