// Exports in the formats of other registries: AI catalogs, the MCP registry, and `mcpServers` for gateways.
import type { Context, Hono } from 'hono';
import type { Agent3 } from '../base/agent3.ts';
import { Agent3Error } from '../base/agent3-error.ts';
import { checkInput } from '../base/check-input.ts';
import { listingRequest } from '../base/requests.ts';
import { CATALOG, catalogOf, serverListOf } from '../cards/catalog.ts';
import { mcpServersOf, serverOf } from '../cards/mcp-server.ts';
import type { Callers } from './callers.ts';
import { refuse } from './errors.ts';
import { parseQuery } from './query.ts';

interface ExchangeOptions {
  agent3: Agent3;
  callers: Callers;
  /** The address of the hub for other machines. Default: that of the request. */
  publicUrl?: string | undefined;
}

const CATALOG_PATHS = ['/.well-known/ai-catalog.json', '/api/catalog'];
/** The frozen version of the API, and the one that older clients ask for. */
const SERVER_PATHS = ['/v0.1/servers', '/v0/servers'];

export function addExchangeRoutes(app: Hono, { agent3, callers, publicUrl }: ExchangeOptions): void {
  const list = async (context: Context, more: object = {}) => {
    const caller = await callers.reader(context.req.raw);
    const { search: _search, version: _version, updated_since: _since, ...query } = context.req.query();
    const parameters = new URLSearchParams(query);
    return agent3.list(checkInput(listingRequest, { ...parseQuery(parameters), ...more }), caller);
  };
  app.get('/api/listing', async (context) => context.json(await list(context)));
  for (const path of CATALOG_PATHS)
    app.get(path, async (context) => {
      const { kind } = context.req.query();
      const next = kind === undefined ? '/api/catalog' : `/api/catalog?kind=${encodeURIComponent(kind)}`;
      const catalog = catalogOf(await list(context), new URL(publicUrl ?? context.req.url), next);
      return context.json(catalog, 200, { 'content-type': CATALOG });
    });
  for (const path of SERVER_PATHS) {
    app.get(path, async (context) => {
      const { search } = context.req.query();
      if (!search) return context.json(serverListOf(await list(context, { kind: 'mcp' })));
      const caller = await callers.reader(context.req.raw);
      const { agents } = await agent3.search({ query: search, limit: 50, filters: { protocols: ['mcp'] } }, caller);
      const listed = await Promise.all(agents.map(({ id }) => agent3.invoke(id, caller)));
      const now = new Date().toISOString();
      const dates = { registeredAt: now, refreshedAt: now };
      return context.json(
        serverListOf({ agents: listed.map(({ card, agentId }) => ({ id: agentId, card, tags: [], ...dates })) }),
      );
    });
  }
  app.get('/api/agents/:id/mcp', async (context) => {
    const caller = await callers.reader(context.req.raw);
    const { card } = await agent3.invoke(context.req.param('id'), caller);
    const server = serverOf(card);
    if (!server)
      throw new Agent3Error('INPUT_INVALID', 'This is an agent and no MCP server: call it with POST /api/calls');
    return context.json(mcpServersOf(server));
  });
  app.all('/v0.1/*', () =>
    refuse({ status: 404, code: 'NOT_FOUND', message: 'Only GET /v0.1/servers is offered here' }),
  );
}
