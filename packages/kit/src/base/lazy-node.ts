// Parts of Node that take milliseconds to load; each is loaded on first use.

export function fileSystem(): typeof import('node:fs') {
  return process.getBuiltinModule('node:fs');
}

/** The SHA-256 hash in hexadecimal. */
export function sha256(text: string): string {
  return process.getBuiltinModule('node:crypto').hash('sha256', text);
}

/** Compares secrets in constant time. */
export function isSameSecret(given: string, expected: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)];
  return one.length === other.length && process.getBuiltinModule('node:crypto').timingSafeEqual(one, other);
}

/** The name of the caller with this bearer token, in audit records and databases: it may be logged, unlike the token. */
export function callerOfToken(token: string): string {
  return `token-${sha256(token).slice(0, 32)}`;
}

/** Passes the compile cache of this process on to a child process, which halves its start time. */
export function compileCacheEnv(): Record<string, string> {
  const { NODE_COMPILE_CACHE: folder } = process.env;
  return folder ? { NODE_COMPILE_CACHE: folder } : {};
}

/** Whether this is the runtime of Cloudflare Workers, where signals and connections belong to the request that made them. */
export function isWorker(): boolean {
  return 'WebSocketPair' in globalThis;
}
