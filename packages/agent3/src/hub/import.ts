// Imports agents and MCP servers from other registries, page by page.
import { readFile } from 'node:fs/promises';
import { makeFetch } from '@pocket-agent/http/fetch';
import { errorText } from '@pocket-agent/kit';
import type { Agent3, Caller } from '../base/agent3.ts';
import { Agent3Error } from '../base/agent3-error.ts';
import { readCatalog } from '../cards/catalog.ts';

/** What an import did. */
export interface ImportResult {
  /** Ids of new and changed agents. */
  registered: string[];
  /** Entries that were not imported, with the reason. */
  skipped: { name: string; reason: string }[];
}

/** Where an import writes to, and how much it reads. */
export interface ImportOptions {
  agent3: Agent3;
  caller: Caller;
  /** Private hosts that may be read, and plain http to them. */
  allowHosts?: readonly string[];
  /** Default 1,000 entries. */
  limit?: number;
  signal?: AbortSignal;
}

const MAX_BYTES = 32 * 1_024 * 1_024;
const MAX_DOCUMENTS = 1_000;
const TIMEOUT_MS = 30_000;
const CONCURRENCY = 4;

/**
 * Registers what an AI catalog, an MCP registry (`/v0.1/servers`), a `server.json` or a list of cards names. `source` is a URL
 * or a file. Registering again what is known already changes it.
 */
export async function importAgents(source: string, options: ImportOptions): Promise<ImportResult> {
  const { agent3, caller, allowHosts = [], limit = 1_000, signal } = options;
  const fetch = makeFetch({ allowHosts, maxBytes: MAX_BYTES, timeoutMs: TIMEOUT_MS, redirects: 'follow' });
  const result: ImportResult = { registered: [], skipped: [] };
  const isWeb = /^https?:/i.test(source);
  try {
    const open = [source];
    const seen = new Set(open);
    let left = limit;
    for (let next = open.shift(); next !== undefined && left > 0; next = open.shift()) {
      signal?.throwIfAborted();
      const document = isWeb ? await readUrl(next, fetch) : await readFileJson(next);
      const catalog = readCatalog(document, isWeb ? next : 'file:///');
      if (!catalog)
        throw new Agent3Error('INPUT_INVALID', `${next} is no catalog, list of servers, server.json or card`);
      const entries = catalog.registrations.slice(0, left);
      left -= entries.length;
      await inParallel(entries, async ({ name, registration }) => {
        try {
          result.registered.push((await agent3.register({ ...registration, mayLowerPrice: false }, caller)).id);
        } catch (error) {
          if (!(error instanceof Agent3Error)) throw error;
          result.skipped.push({ name, reason: error.message });
        }
      });
      result.skipped.push(
        ...catalog.unknown.map((name) => ({ name, reason: 'neither an A2A agent nor an MCP server' })),
      );
      // a catalog may name itself
      const added = catalog.next.filter((url) => isWeb && !seen.has(url) && seen.size < MAX_DOCUMENTS);
      for (const url of added) seen.add(url);
      open.push(...added);
    }
    return result;
  } finally {
    fetch.close();
  }
}

async function readUrl(url: string, fetch: ReturnType<typeof makeFetch>): Promise<unknown> {
  try {
    const response = await fetch(new URL(url), { headers: { accept: 'application/json' } });
    if (!response.ok) throw new Agent3Error('CARD_UNAVAILABLE', `${url} answered with status ${response.status}`);
    return await response.json();
  } catch (cause) {
    if (cause instanceof Agent3Error) throw cause;
    throw new Agent3Error('CARD_UNAVAILABLE', `${url} cannot be read: ${errorText(cause)}`, { cause });
  }
}

async function readFileJson(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, 'utf8'));
  } catch (cause) {
    throw new Agent3Error('INPUT_INVALID', `${file} cannot be read as JSON: ${errorText(cause)}`, { cause });
  }
}

async function inParallel<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const rest = [...items];
  const worker = async () => {
    for (let item = rest.shift(); item !== undefined; item = rest.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
}
