// Unguessable strings for codes, cookies and PKCE verifiers.
import { randomBytes } from 'node:crypto';

export function randomToken(): string {
  return randomBytes(32).toString('base64url');
}
