// What a registry is made from.
import type { HttpFetch } from '@pocket-agent/http/fetch';
import type { RateLimit } from '../base/types.ts';
import type { SigningKey } from '../cards/signature.ts';
import type { Embedder } from './search/meaning.ts';

export interface RegistryOptions {
  /** PostgreSQL, shared by several hubs. */
  url?: string;
  /** SQLite, when there is no URL. */
  file?: string;
  /** Cards and keys are fetched by it; its guard decides which addresses may be reached. */
  fetch: HttpFetch;
  /** Hosts that may be spoken to by plain http. */
  allowHosts?: readonly string[];
  /** 32 bytes as base64 or hex, or a passphrase; without it no credentials are kept. */
  secretKey?: string | undefined;
  oldSecretKeys?: readonly string[];
  /** Public keys (JWK with `kid`) whose signatures count for every card. */
  trustedKeys?: readonly SigningKey[];
  /** Over all agents, for each caller. Default 600 in 60 seconds; false for none. */
  callerRateLimit?: RateLimit | false;
  /** Default every 5 minutes, 4 at once; false for none. */
  healthChecks?: { intervalMs?: number; concurrency?: number } | false;
  /** Ranks by meaning beside words, for example with a local embedding model. */
  embedder?: Embedder;
  /** Of those that agents wrote, how many are kept to correct misspelt ones by. Default 200,000. */
  maxWords?: number;
  cardTimeoutMs?: number;
  /** How old a card may be that an agent is called by, whatever its server says. Default a day. */
  maxStaleMs?: number;
  now?: () => number;
}
