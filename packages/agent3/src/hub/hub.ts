// A hub: HTTP API, web pages and MCP on one address.
import { type HttpServer, serveHttp } from '@pocket-agent/http/mcp';
import { errorText, type Logger, stderrLogger } from '@pocket-agent/kit';
import { Hono } from 'hono';
import { compress } from 'hono/compress';
import { makeApi } from '../api/api.ts';
import { Callers, mcpAuthorization, mcpCaller } from '../api/callers.ts';
import type { Agent3, TokenStore } from '../base/agent3.ts';
import { Agent3Error } from '../base/agent3-error.ts';
import type { OwnerTokens } from '../base/owner-tokens.ts';
import type { ConfirmCalls, SpendingLimit } from '../mcp/consent.ts';
import { mcpServerFactory } from '../mcp/mcp-server.ts';
import { makePages } from '../pages/pages.ts';

/** Address, tokens and limits of a hub. */
export interface HubOptions {
  /** Stays open when the hub is closed. */
  agent3: Agent3 & Partial<TokenStore> & { receivePush?(request: Request): Promise<Response> };
  tokens: OwnerTokens;
  /** Reading needs a token, too. Default false. */
  isPrivate?: boolean;
  confirm?: ConfirmCalls;
  /** What a call over MCP may cost without a question. Default: nothing. */
  spendingLimit?: SpendingLimit;
  /** Default 127.0.0.1: only this machine. */
  host?: string;
  /** Default 0: any free port, see `url`. */
  port?: number;
  /** Further host names of the hub, beside those of this machine and `host`. */
  allowedHosts?: readonly string[];
  logger?: Logger;
}

/** A running hub. */
export interface Hub {
  /** The URL of the web pages; the API is at /api, MCP at /mcp. */
  readonly url: string;
  close(): Promise<void>;
}

const LOCAL_NAMES = ['localhost', '127.0.0.1', '[::1]'];

/** Serves Agent3 on one address: HTTP API, web pages and MCP. */
export async function serveHub(options: HubOptions): Promise<Hub> {
  const { agent3, tokens, isPrivate = false, confirm, host = '127.0.0.1', port, allowedHosts = [] } = options;
  const { logger = stderrLogger(), spendingLimit } = options;
  const tokenStore = tokenStoreOf(agent3);
  const callers = new Callers({ tokens, named: tokenStore, isPrivate });
  const receivePush = agent3.receivePush?.bind(agent3);
  const app = new Hono();
  // does not compress NDJSON, so calls still stream
  app.use(compress());
  app.route('/', makeApi({ agent3, callers, tokens, tokenStore, logger, receivePush }));
  app.route('/', makePages({ agent3, callers, hasTokens: tokenStore !== undefined, logger }));
  const names = [...LOCAL_NAMES, host.includes(':') ? `[${host}]` : host, ...allowedHosts];
  const factory = mcpServerFactory({
    agent3,
    callerOf: ({ http }) => mcpCaller(http?.authInfo),
    confirm,
    spendingLimit,
    logger,
  });
  const server: HttpServer = await serveHttp(factory, {
    host,
    port,
    authorize: mcpAuthorization({ tokens, named: tokenStore }),
    routes: (request) => app.fetch(request),
    allowedHosts: names,
    allowedOrigins: names,
    onError: (error) => logger.debug('HTTP', { reason: error.message }),
  }).catch(refuseAddress);
  return { url: new URL('/', server.url).href, close: () => server.close() };
}

/** Only a registry in this process keeps tokens. */
function tokenStoreOf(agent3: HubOptions['agent3']): TokenStore | undefined {
  const { addToken, revokeToken, isValidToken } = agent3;
  if (!addToken || !revokeToken || !isValidToken) return undefined;
  return {
    addToken: addToken.bind(agent3),
    revokeToken: revokeToken.bind(agent3),
    isValidToken: isValidToken.bind(agent3),
  };
}

/** An address that cannot be used, such as a port in use, is a configuration error. */
function refuseAddress(cause: unknown): never {
  throw new Agent3Error('CONFIG_INVALID', errorText(cause), { cause });
}
