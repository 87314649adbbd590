// Opens Agent3 by its settings: in this process, or as a client of a hub.
import { stderrLogger } from '@pocket-agent/kit';
import type { Agent3 } from '../base/agent3.ts';
import { OwnerTokens } from '../base/owner-tokens.ts';
import type { SpendingLimit } from '../mcp/consent.ts';
import { keyFor, storedKey } from './hub-key.ts';
import type { LocalAgent3 } from './local.ts';
import type { Agent3Settings } from './options.ts';

export async function openBySettings(settings: Agent3Settings): Promise<Agent3> {
  if (!settings.remote) return openLocal(settings);
  const { RemoteAgent3 } = await import('./remote.ts');
  return new RemoteAgent3(settings.remote);
}

export async function openLocal(settings: Agent3Settings): Promise<LocalAgent3> {
  const { databaseUrl, file, secretKey, oldSecretKeys, allowHosts, trustedKeys, dollarsPerDay, publicUrl } = settings;
  const { requireProof, peers } = settings;
  const { openAgent3 } = await import('./local.ts');
  const embedder = settings.embeddings
    ? await (await import('../registry/search/local-embedder.ts')).localEmbedder()
    : undefined;
  return openAgent3({
    ...(databaseUrl ? { url: databaseUrl } : { file }),
    secretKey,
    oldSecretKeys,
    allowHosts,
    trustedKeys,
    requireProof,
    peers,
    key: keyFor('tickets', await mainKey(settings)),
    logger: stderrLogger(settings.logLevel),
    embedder,
    budget: {
      perDay: dollarsPerDay.forAll,
      byCaller: dollarsPerDay.byOwner,
    },
    pushUrl: publicUrl && `${publicUrl}/api/push`,
  });
}

/** The limits a person has configured. */
export function spendingLimitOf({ dollarsPerCall }: Agent3Settings): SpendingLimit {
  return ({ id }) => dollarsPerCall.byOwner.get(id) ?? dollarsPerCall.forAll;
}

export async function ownerTokens(settings: Agent3Settings): Promise<OwnerTokens> {
  const { admins, revoked } = settings;
  return new OwnerTokens({ key: keyFor('tokens', await mainKey(settings)), admins, revoked });
}

/** Hubs that share a database need the same key. */
async function mainKey({ tokenKey, secretKey, keyFile }: Agent3Settings): Promise<string> {
  return tokenKey ?? secretKey ?? (await storedKey(keyFile));
}
