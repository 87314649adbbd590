// The public names of `@pocket-agent/http/mcp`.
export { type BearerToken, bearerTokens } from './bearer-tokens.ts';
export { type Authorize, type McpHandler, type McpHandlerOptions, mcpHandler } from './mcp-handler.ts';
export { type HttpServer, type McpHttpOptions, serveHttp, startListening } from './mcp-http.ts';
export { announceChange } from './mcp-sessions.ts';
export { type McpStdioOptions, serveStdio } from './mcp-stdio.ts';
export { ownMeta } from './own-meta.ts';
export { requestGuard } from './request-guard.ts';
export { refuseUnreadable } from './unreadable.ts';
