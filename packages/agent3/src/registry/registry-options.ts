// The options of a registry.

import type { SigningKey } from '@pocket-agent/a2a/client';
import type { HttpFetch } from '@pocket-agent/http/fetch';
import type { RateLimit } from '../base/agents.ts';
import type { Embedder } from './search/semantic-index.ts';

export interface RegistryOptions {
  /** PostgreSQL, shared by several hubs. */
  url?: string;
  /** SQLite, if there is no URL. */
  file?: string;
  /** Fetches cards and keys. It decides which addresses may be reached, and how large a response may be. */
  fetch: HttpFetch;
  /** Hosts that may be reached over plain http. */
  allowHosts?: readonly string[];
  /** 32 bytes as base64 or hex, or a passphrase; without it, credentials cannot be stored. */
  secretKey?: string | undefined;
  oldSecretKeys?: readonly string[];
  /** Public keys (JWK with `kid`) whose signatures count for every card. */
  trustedKeys?: readonly SigningKey[];
  /** Only proven owners and admins may register agents. Default false: anyone may, and a proof takes an agent over. */
  requireProof?: boolean;
  /** Calls of each caller over all agents. Default 600 in 60 seconds; false for no limit. */
  callerRateLimit?: RateLimit | false;
  /** Default: every 5 minutes, 4 at a time; false for no checks. */
  healthChecks?: { intervalMs?: number; concurrency?: number } | false;
  /** Embedding model; adds semantic similarity to the ranking. */
  embedder?: Embedder;
  /** Size of the vocabulary that corrects misspelt words. Default 200,000. */
  maxWords?: number;
  cardTimeoutMs?: number;
  /** Maximum age of the card a call uses, whatever its server says. Default one day. */
  maxStaleMs?: number;
  now?: () => number;
}
