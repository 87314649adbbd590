// Serves MCP over HTTP with bearer tokens, each with a profile.
import type { McpServerFactory } from '@modelcontextprotocol/server';
import {
  type Authorize,
  bearerTokens,
  type HttpServer,
  type McpHttpOptions,
  serveHttp as serveMcp,
} from '@pocket-agent/http/mcp';
import { errorText, OptionSet, PocketError, positiveInteger, positiveNumber } from '@pocket-agent/kit';
import { type Profile, type ProfileName, readProfile } from '../access/capabilities.ts';

export type { HttpServer };

export interface HttpServerOptions extends Omit<McpHttpOptions, 'authorize' | 'routes'> {
  /** Clients must send it as a bearer token. */
  token?: string;
  /** Tokens of several clients, each with the profile that limits it. */
  tokens?: Readonly<Record<string, ProfileName | Profile>>;
}

const listenOptions = new OptionSet<HttpServerOptions>('listen()', {
  host: true,
  port: true,
  path: true,
  token: true,
  tokens: true,
  allowedHosts: true,
  allowedOrigins: true,
  sessionIdleMs: positiveNumber,
  maxSessions: positiveInteger,
  maxRequestBodySize: positiveInteger,
  onError: true,
});

export async function serveHttp(factory: McpServerFactory, options: HttpServerOptions = {}): Promise<HttpServer> {
  listenOptions.check(options);
  const { token: _token, tokens: _tokens, ...served } = options;
  const authorize = bearerGate(options);
  try {
    return await serveMcp(factory, { ...served, ...(authorize ? { authorize } : {}) });
  } catch (error) {
    throw cannotListen(error);
  }
}

/** In the words of `startListening`, which say all that its cause does. */
export function cannotListen(error: unknown): PocketError {
  const text = error instanceof Error ? error.message : errorText(error);
  return new PocketError('CONFIG_INVALID', text, { cause: error });
}

/** Undefined when the server is open to everybody. */
export function bearerGate(
  options: Pick<HttpServerOptions, 'token' | 'tokens'> & { authenticate?: unknown },
): Authorize | undefined {
  const { token, tokens } = options;
  // an unset variable must not open a server
  for (const key of ['token', 'tokens', 'authenticate'] as const) {
    if (!(key in options) || (options[key] !== undefined && options[key] !== null)) continue;
    const problem = `The "${key}" of the server is ${options[key]}; set it, or leave the option out.`;
    throw new PocketError('CONFIG_INVALID', problem);
  }
  if (token === undefined && tokens === undefined) return undefined;
  const known = Object.entries(tokens ?? {}).map(([text, profile]) => ({
    token: text,
    extra: { profile: readProfile(profile) },
  }));
  const all = token === undefined ? known : [{ token }, ...known];
  if (all.some((entry) => entry.token === '')) {
    throw new PocketError('CONFIG_INVALID', 'The "token" of the server is empty; set one or leave it out.');
  }
  if (known.some((entry) => entry.token === token)) {
    throw new PocketError('CONFIG_INVALID', 'One token is both "token" and in "tokens"; keep it in one of them.');
  }
  return bearerTokens(all);
}

/** Whether there are several callers: then one of them must not use up all runs. */
export function hasSeveralCallers({ token, tokens }: Pick<HttpServerOptions, 'token' | 'tokens'>): boolean {
  return Object.keys(tokens ?? {}).length + (token === undefined ? 0 : 1) > 1;
}

export function isLocal(host = '127.0.0.1'): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}
