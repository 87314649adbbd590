// Verifies the signatures of a card: JWS over the canonical JSON of the card as received.
//
// The specification signs the whole card without `signatures`, as canonical JSON (RFC 8785). Some signers, including
// the official SDK, first drop empty values. Both forms are accepted, the second only if no security field was dropped:
// the signature would not cover that field, so it could be changed.
import { constants, createPublicKey, type JsonWebKey, verify } from 'node:crypto';
import type { CardJson } from '../base/agents.ts';
import { canonicalJson } from '../base/canonical-json.ts';

/**
 * valid: signed by a key that is trusted for this card. none: not signed. unknown: signed by an untrusted key or with an
 * unknown algorithm. invalid: the signature names a trusted key, but does not verify with it.
 */
type SignatureState = 'valid' | 'none' | 'unknown' | 'invalid';

export type SigningKey = JsonWebKey & { kid?: string };

/** The trusted keys with the id `kid`: configured ones, or those at `jku` if it has the origin of the card. */
type FindKeys = (header: { kid: string; jku: string | undefined }) => Promise<readonly SigningKey[]>;

interface Signature {
  protected: string;
  signature: string;
}

const MAX_SIGNATURES = 5;
/** Keys tried per signature; each verification runs on the main thread over the whole card. */
const MAX_KEYS = 3;

const algorithms = new Map<string, { kty: string; hash: string | null; isPss?: boolean; curve?: string }>([
  ['ES256', { kty: 'EC', hash: 'sha256', curve: 'P-256' }],
  ['ES384', { kty: 'EC', hash: 'sha384', curve: 'P-384' }],
  ['ES512', { kty: 'EC', hash: 'sha512', curve: 'P-521' }],
  ['RS256', { kty: 'RSA', hash: 'sha256' }],
  ['RS384', { kty: 'RSA', hash: 'sha384' }],
  ['RS512', { kty: 'RSA', hash: 'sha512' }],
  ['PS256', { kty: 'RSA', hash: 'sha256', isPss: true }],
  ['PS384', { kty: 'RSA', hash: 'sha384', isPss: true }],
  ['PS512', { kty: 'RSA', hash: 'sha512', isPss: true }],
  ['EdDSA', { kty: 'OKP', hash: null }],
  ['Ed25519', { kty: 'OKP', hash: null, curve: 'Ed25519' }],
]);

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

function readHeader(encoded: string): { alg: string; kid: string; jku: string | undefined } | undefined {
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

function verifies(payload: string, by: { signature: Signature; key: SigningKey; algorithm: string }): boolean {
  const { signature, key, algorithm } = by;
  const expected = algorithms.get(algorithm);
  if (!expected || key.kty !== expected.kty || (expected.curve !== undefined && key.crv !== expected.curve))
    return false;
  const signed = `${signature.protected}.${Buffer.from(payload).toString('base64url')}`;
  try {
    const publicKey = {
      key: createPublicKey({ key, format: 'jwk' }),
      dsaEncoding: 'ieee-p1363' as const,
      ...(expected.isPss
        ? { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
        : {}),
    };
    return verify(expected.hash, Buffer.from(signed), publicKey, Buffer.from(signature.signature, 'base64url'));
  } catch {
    return false; // not a usable key
  }
}

function withoutEmpty(value: unknown): unknown {
  if (value === '' || value === null || value === undefined) return undefined;
  if (typeof value !== 'object') return value;
  if (Array.isArray(value)) {
    const items = value.map(withoutEmpty).filter((item) => item !== undefined);
    return items.length > 0 ? items : undefined;
  }
  const members = Object.entries(value)
    .map(([key, item]) => [key, withoutEmpty(item)] as const)
    .filter(([, item]) => item !== undefined);
  return members.length > 0 ? Object.fromEntries(members) : undefined;
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
