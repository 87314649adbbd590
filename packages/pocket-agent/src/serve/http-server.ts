// Serves MCP over HTTP with bearer tokens, each with a profile.
import type { McpServerFactory } from '@modelcontextprotocol/server';
import {
  type Authorize,
  bearerTokens,
  type HttpServer,
  type McpHandler,
  type McpHttpOptions,
  mcpHandler,
  serveHttp as serveMcp,
} from '@pocket-agent/http/mcp';
import { configError, errorText, OptionSet, type PocketError } from '@pocket-agent/kit';
import { readProfile } from '../access/capabilities.ts';
import { checkTokens, hasTokens, httpAccessRules, type TokenOptions } from './server-options.ts';

export type { HttpServer };

/** Where `listen()` listens, which tokens it accepts, and its limits. */
export interface HttpServerOptions
  extends Omit<McpHttpOptions, 'authorize' | 'routes' | 'ownHosts' | 'watchResources' | 'maxRouteBodySize'>,
    TokenOptions {}

const listenOptions = new OptionSet<HttpServerOptions>('listen()', {
  host: true,
  port: true,
  path: true,
  ...httpAccessRules,
  onError: true,
});

export async function serveHttp(factory: McpServerFactory, options: HttpServerOptions = {}): Promise<HttpServer> {
  listenOptions.check(options);
  try {
    return await serveMcp(factory, withGate(options));
  } catch (error) {
    throw cannotListen(error);
  }
}

/** Serves through a handler of web requests, for a framework or a runtime that listens itself. */
export function serveFetch(factory: McpServerFactory, options: HttpServerOptions): McpHandler {
  return mcpHandler(factory, withGate(options));
}

function withGate(options: HttpServerOptions): McpHttpOptions {
  const { token: _token, tokens: _tokens, ...served } = options;
  const authorize = bearerGate(options);
  return { ...served, ...(authorize ? { authorize } : {}) };
}

/** With the message of `startListening`, which includes its cause. */
export function cannotListen(error: unknown): PocketError {
  const text = error instanceof Error ? error.message : errorText(error);
  return configError(text, error);
}

/** Undefined when the server is open to everyone. */
export function bearerGate(options: TokenOptions & { authenticate?: unknown }): Authorize | undefined {
  checkTokens(options);
  const { token, tokens = {} } = options;
  if (!hasTokens(options)) return undefined;
  const known = Object.entries(tokens).map(([text, profile]) => ({
    token: text,
    extra: { profile: readProfile(profile) },
  }));
  return bearerTokens(token === undefined ? known : [{ token }, ...known]);
}

export function isLocal(host = '127.0.0.1'): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}
