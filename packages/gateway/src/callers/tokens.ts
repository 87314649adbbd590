// Tokens of callers: made here, and kept as hashes only.
import { randomBytes } from 'node:crypto';
import { sha256 } from '@pocket-agent/kit';

const TOKEN_PREFIX = 'pgw_';
const TOKEN_BYTES = 32;

export function newToken(): { token: string; hash: string } {
  const token = `${TOKEN_PREFIX}${randomBytes(TOKEN_BYTES).toString('base64url')}`;
  return { token, hash: sha256(token) };
}
