// Signatures of notifications to webhooks: a JWT with the hash of the body, as in the samples of A2A.
import { randomUUID, timingSafeEqual } from 'node:crypto';
import { isRecord, sha256 } from '@pocket-agent/kit';
import { base64url, type SigningKey, signJws } from './signing-key.ts';
import type { CurrentKeys } from './signing-keys.ts';
import { readHeader, verifies } from './verify-card.ts';

/** Has the JWT of a notification, also if `Authorization` has credentials of the webhook. */
export const SIGNATURE_HEADER = 'x-a2a-notification-signature';
const LIFE_S = 300;
const CLOCK_SKEW_S = 60;

interface Signed {
  body: string;
  /** The URL of the agent. */
  issuer: string;
  /** The origin of the webhook. */
  audience: string;
}

/** Signed by the oldest key that signs, which every copy of the key set has. */
export function signNotification({ body, issuer, audience }: Signed, { signers }: CurrentKeys): string | undefined {
  const signer = signers.at(-1);
  if (!signer) return undefined;
  const iat = Math.floor(Date.now() / 1000);
  const claims = {
    iss: issuer,
    aud: audience,
    iat,
    exp: iat + LIFE_S,
    jti: randomUUID(),
    request_body_sha256: sha256(body),
  };
  const payload = JSON.stringify(claims);
  const jws = signJws(payload, signer, { typ: 'JWT' });
  return `${jws.protected}.${base64url(payload)}.${jws.signature}`;
}

/** A notification as a webhook receives it. */
export interface ReceivedNotification {
  /** The header `x-a2a-notification-signature`. */
  signature: string;
  /** The body as it arrived. */
  body: string;
  /** The keys at `/.well-known/jwks.json` of the agent. */
  keys: readonly SigningKey[];
  /** The origin of the webhook, such as `https://hooks.example`. */
  audience: string;
}

/** Whether the agent with these keys has sent this notification to this webhook within the last minutes. */
export function verifyNotification({ signature, body, keys, audience }: ReceivedNotification): boolean {
  const [header = '', payload = '', proof = '', more] = signature.split('.');
  const read = more === undefined ? readHeader(header) : undefined;
  const claims = read && claimsIn(payload);
  if (!read || !claims) return false;
  const now = Date.now() / 1000;
  const isNow = Number(claims.iat) <= now + CLOCK_SKEW_S && Number(claims.exp) >= now - CLOCK_SKEW_S;
  if (!isNow || claims.aud !== audience || !isSame(claims.request_body_sha256, sha256(body))) return false;
  const text = Buffer.from(payload, 'base64url').toString();
  const jws = { protected: header, signature: proof };
  return keys.some((key) => key.kid === read.kid && verifies(text, { signature: jws, key, algorithm: read.alg }));
}

function claimsIn(payload: string): Record<string, unknown> | undefined {
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString());
    return isRecord(claims) ? claims : undefined;
  } catch {
    return undefined;
  }
}

function isSame(one: unknown, other: string): boolean {
  const bytes = Buffer.from(String(one));
  return bytes.length === other.length && timingSafeEqual(bytes, Buffer.from(other));
}
