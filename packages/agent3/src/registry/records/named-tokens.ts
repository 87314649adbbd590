// Named tokens: they expire, and their owners can revoke each of them. The tokens themselves are not stored.
import { randomInt } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { TokenInfo } from '../../base/account.ts';
import { Agent3Error } from '../../base/agent3-error.ts';
import { cleanLine } from '../../base/clean-text.ts';
import type { RegistrySchema } from './schema.ts';

const MAX_TOKENS = 100;
const DAY_MS = 86_400_000;
const CHARACTERS = 'abcdefghijklmnopqrstuvwxyz0123456789';
const ID_LENGTH = 16;
const MAX_NAME_LENGTH = 100;

type Database = Kysely<RegistrySchema>;
type TokenRow = RegistrySchema['agent3_tokens'];

export async function addToken(
  db: Database,
  { owner, name, days, now }: { owner: string; name: string; days: number; now: number },
): Promise<TokenInfo> {
  const id = Array.from({ length: ID_LENGTH }, () => CHARACTERS[randomInt(CHARACTERS.length)]).join('');
  const label = cleanLine(name, MAX_NAME_LENGTH);
  if (label === '') throw new Agent3Error('INPUT_INVALID', 'name: must have visible characters');
  const row = { id, owner, name: label, created_at: now, expires_at: now + days * DAY_MS };
  await db.deleteFrom('agent3_tokens').where('owner', '=', owner).where('expires_at', '<=', now).execute();
  if ((await listTokens(db, owner, now)).length >= MAX_TOKENS)
    throw new Agent3Error('INPUT_INVALID', `You have ${MAX_TOKENS} tokens; revoke one before you create another`);
  await db.insertInto('agent3_tokens').values(row).execute();
  return infoOf(row);
}

export async function revokeToken(db: Database, owner: string, id: string): Promise<void> {
  const { numDeletedRows } = await db
    .deleteFrom('agent3_tokens')
    .where('owner', '=', owner)
    .where('id', '=', id)
    .executeTakeFirst();
  if (numDeletedRows === 0n)
    throw new Agent3Error('INPUT_INVALID', 'You have no such token; the account lists your tokens');
}

export async function listTokens(db: Database, owner: string, now: number): Promise<TokenInfo[]> {
  const rows = await db
    .selectFrom('agent3_tokens')
    .selectAll()
    .where('owner', '=', owner)
    .where('expires_at', '>', now)
    .orderBy('created_at', 'desc')
    .execute();
  return rows.map(infoOf);
}

export async function isValidToken(db: Database, { owner, id, now }: { owner: string; id: string; now: number }) {
  const row = await db
    .selectFrom('agent3_tokens')
    .select('id')
    .where('id', '=', id)
    .where('owner', '=', owner)
    .where('expires_at', '>', now)
    .executeTakeFirst();
  return row !== undefined;
}

function infoOf({ id, name, created_at, expires_at }: TokenRow): TokenInfo {
  return { id, name, createdAt: new Date(created_at).toISOString(), expiresAt: new Date(expires_at).toISOString() };
}
