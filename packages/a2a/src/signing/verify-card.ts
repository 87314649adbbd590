// Verifies the signatures of a card: JWS over the canonical JSON of the card as received.
//
// The specification signs the whole card without `signatures`, as canonical JSON (RFC 8785). Some signers, including
// the official SDK, first drop empty values. Both forms are accepted, the second only if no security field was dropped:
// the signature would not cover that field, so it could be changed.
import { createPublicKey, verify } from 'node:crypto';
import { canonicalJson, withoutEmpty } from './canonical-json.ts';
import { algorithms, base64url, isFor, type SigningKey, signatureOptions } from './signing-key.ts';

type CardJson = Record<string, unknown>;

/**
 * valid: signed by a key that is trusted for this card. none: not signed. unknown: signed by an untrusted key or with an
 * unknown algorithm. invalid: the signature names a trusted key, but does not verify with it.
 */
export type SignatureState = 'valid' | 'none' | 'unknown' | 'invalid';

/** The trusted keys with the id `kid`: configured ones, or those at `jku` if it has the origin of the card. */
export type FindKeys = (header: { kid: string; jku: string | undefined }) => Promise<readonly SigningKey[]>;

interface Signature {
  protected: string;
  signature: string;
}

/** Two keys during a rotation, times the canonical forms of a card. */
const MAX_SIGNATURES = 8;
/** Keys tried per signature; each verification runs on the main thread over the whole card. */
const MAX_KEYS = 3;

/** One valid signature is enough. */
export async function verifyCard(card: CardJson, findKeys: FindKeys): Promise<SignatureState> {
  const signatures = Array.isArray(card.signatures) ? card.signatures.slice(0, MAX_SIGNATURES) : [];
  if (signatures.length === 0) return 'none';
  const { signatures: _signatures, ...content } = card;
  const whole = canonicalJson(content);
  const compact = canonicalJson(withoutEmpty(content) ?? {});
  let state: SignatureState = 'unknown';
  for (const signature of signatures) {
    if (!isSignature(signature)) continue;
    const header = readHeader(signature.protected);
    if (!header) continue;
    for (const key of (await findKeys(header)).slice(0, MAX_KEYS)) {
      if (verifies(whole, { signature, key, algorithm: header.alg })) return 'valid';
      if (!verifies(compact, { signature, key, algorithm: header.alg })) state = 'invalid';
      else if (keepsSecurityFields(content)) return 'valid';
    }
  }
  return state;
}

function isSignature(value: unknown): value is Signature {
  if (typeof value !== 'object' || value === null) return false;
  return (
    'protected' in value &&
    typeof value.protected === 'string' &&
    'signature' in value &&
    typeof value.signature === 'string'
  );
}

/** The protected header of a JWS; undefined if its algorithm is unknown. */
export function readHeader(encoded: string): { alg: string; kid: string; jku: string | undefined } | undefined {
  try {
    const header: unknown = JSON.parse(Buffer.from(encoded, 'base64url').toString('utf8'));
    if (typeof header !== 'object' || header === null || 'crit' in header) return undefined;
    const { alg, kid, jku }: { alg?: unknown; kid?: unknown; jku?: unknown } = header;
    if (typeof alg !== 'string' || !algorithms.has(alg) || typeof kid !== 'string') return undefined;
    return { alg, kid, jku: typeof jku === 'string' ? jku : undefined };
  } catch {
    return undefined;
  }
}

/** Whether the key made the signature of the payload. */
export function verifies(payload: string, by: { signature: Signature; key: SigningKey; algorithm: string }): boolean {
  const { signature, key, algorithm } = by;
  const expected = algorithms.get(algorithm);
  if (!expected || !isFor(expected, key)) return false;
  const signed = `${signature.protected}.${base64url(payload)}`;
  try {
    const publicKey = { key: createPublicKey({ key, format: 'jwk' }), ...signatureOptions(expected) };
    return verify(expected.hash, Buffer.from(signed), publicKey, Buffer.from(signature.signature, 'base64url'));
  } catch {
    return false; // not a usable key
  }
}

const securityFields = ['securitySchemes', 'securityRequirements', 'security'];

function keepsSecurityFields(content: CardJson): boolean {
  const skills = Array.isArray(content.skills) ? content.skills : [];
  return [content, ...skills].every((part) =>
    securityFields.every((field) => {
      const value: unknown = part?.[field];
      return value === undefined || canonicalJson(value) === canonicalJson(withoutEmpty(value) ?? null);
    }),
  );
}
