// Formats of other registries: the AI catalog of the A2A and MCP projects, and the listing of the MCP registry.
import { isRecord, recordsIn } from '@pocket-agent/kit';
import type { Listing, Registration } from '../base/agents.ts';
import { mcpServer } from '../base/mcp-server.ts';
import { serverOf } from './mcp-server.ts';

export const CATALOG = 'application/ai-catalog+json';
const A2A_CARD = 'application/a2a-agent-card+json';
const MCP_CARD = 'application/mcp-server-card+json';
const OFFICIAL = 'io.modelcontextprotocol.registry/official';

type Json = Record<string, unknown>;
type Listed = Listing['agents'][number];

/** One page as an AI catalog; the next page is a nested catalog. */
export function catalogOf({ agents, nextCursor }: Listing, hub: URL, path: string): Json {
  const entries = agents.map((agent) => catalogEntry(agent, hub));
  const next = {
    identifier: `urn:air:${hub.hostname}:catalog:${nextCursor}`,
    type: CATALOG,
    url: new URL(`${path}${path.includes('?') ? '&' : '?'}cursor=${nextCursor}`, hub).href,
  };
  return {
    specVersion: '1.0',
    host: { displayName: `Agent3 at ${hub.host}`, identifier: hub.hostname },
    entries: nextCursor === undefined ? entries : [...entries, next],
  };
}

function catalogEntry({ id, card, cardUrl, tags, refreshedAt }: Listed, { hostname }: URL): Json {
  const server = serverOf(card);
  return {
    identifier: `urn:air:${hostname}:${server ? 'mcp' : 'a2a'}:${id}`,
    type: server ? MCP_CARD : A2A_CARD,
    ...(cardUrl === undefined ? { data: server ?? card } : { url: cardUrl }),
    displayName: card.name,
    description: card.description,
    tags,
    version: card.version,
    updatedAt: refreshedAt,
  };
}

/** One page as `GET /v0.1/servers` of the MCP registry. */
export function serverListOf({ agents, nextCursor }: Listing): Json {
  const servers = agents.flatMap((agent) => serverEntry(agent) ?? []);
  return { servers, metadata: { count: servers.length, ...(nextCursor === undefined ? {} : { nextCursor }) } };
}

function serverEntry({ card, registeredAt, refreshedAt }: Listed): Json | undefined {
  const server = serverOf(card);
  if (!server) return undefined;
  const official = { status: 'active', publishedAt: registeredAt, updatedAt: refreshedAt, isLatest: true };
  return { server, _meta: { [OFFICIAL]: official } };
}

/** What a document of another registry lists. */
export interface ReadCatalog {
  registrations: { name: string; registration: Registration }[];
  /** Further documents: nested catalogs, or the next page. */
  next: string[];
  /** Names of entries of another kind. */
  unknown: string[];
}

/** Reads an AI catalog, a list of the MCP registry, a server.json, a card, or a list of cards. Undefined for anything else. */
export function readCatalog(document: unknown, source: string): ReadCatalog | undefined {
  const found: ReadCatalog = { registrations: [], next: [], unknown: [] };
  if (Array.isArray(document)) {
    for (const one of document.filter(isRecord)) readEntry(one, found);
    return document.length === 0 || found.registrations.length > 0 ? found : undefined;
  }
  if (!isRecord(document)) return undefined;
  if (Array.isArray(document.entries)) {
    for (const entry of recordsIn(document.entries)) readCatalogEntry(entry, { found, source });
    return found;
  }
  if (Array.isArray(document.servers)) {
    for (const one of recordsIn(document.servers)) readListedServer(one, found);
    const { nextCursor, next_cursor } = isRecord(document.metadata) ? document.metadata : {};
    const cursor = nextCursor ?? next_cursor;
    if (typeof cursor === 'string' && cursor !== '') found.next.push(withCursor(source, cursor));
    return found;
  }
  readEntry(document, found);
  return found.registrations.length > 0 ? found : undefined;
}

/** A card or a server.json. */
function readEntry(json: Json, found: ReadCatalog): void {
  const name = String(json.title ?? json.name ?? 'entry without a name');
  if ('remotes' in json || 'packages' in json) {
    const server = mcpServer.safeParse(json).data;
    if (server) found.registrations.push({ name, registration: { server } });
    else found.unknown.push(name);
  } else if ('supportedInterfaces' in json || 'skills' in json)
    found.registrations.push({ name, registration: { card: json } });
  else found.unknown.push(name);
}

function readListedServer(entry: Json, found: ReadCatalog): void {
  const meta = isRecord(entry._meta) ? entry._meta[OFFICIAL] : undefined;
  const isOld = isRecord(meta) && (meta.isLatest === false || (meta.status !== undefined && meta.status !== 'active'));
  if (!isOld) readEntry(isRecord(entry.server) ? entry.server : entry, found);
}

function readCatalogEntry(entry: Json, { found, source }: { found: ReadCatalog; source: string }): void {
  const { type, mediaType, url, data, displayName, identifier } = entry;
  const kind = String(type ?? mediaType);
  const name = String(displayName ?? identifier ?? 'entry without a name');
  const address = typeof url === 'string' ? URL.parse(url, source)?.href : undefined;
  if (kind === CATALOG && address) found.next.push(address);
  else if (isRecord(data) && [A2A_CARD, MCP_CARD].includes(kind)) readEntry(data, found);
  else if (kind === A2A_CARD && address) found.registrations.push({ name, registration: { cardUrl: address } });
  else if (kind === MCP_CARD && address) found.next.push(address);
  else found.unknown.push(name);
}

function withCursor(source: string, cursor: string): string {
  const url = new URL(source);
  url.searchParams.set('cursor', cursor);
  return url.href;
}
