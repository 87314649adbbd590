// Keys for signatures, as JSON Web Keys.
import {
  constants,
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from 'node:crypto';
import { PocketError } from '@pocket-agent/kit';

/** A JSON Web Key, with its id. The type is our own: not every version of @types/node exports one from node:crypto. */
export interface SigningKey {
  kty?: string;
  kid?: string;
  alg?: string;
  crv?: string;
  x?: string;
  y?: string;
  n?: string;
  e?: string;
  d?: string;
  [member: string]: unknown;
}

interface Algorithm {
  kty: string;
  hash: string | null;
  isPss?: boolean;
  curve?: string;
}

/** The algorithms of signatures, with the keys that they need. */
export const algorithms: ReadonlyMap<string, Algorithm> = new Map<string, Algorithm>([
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

/** A key that signs. */
export interface Signer {
  kid: string;
  alg: string;
  /** The private key. */
  key: KeyObject;
  /** What a JWK set shows of it. */
  publicKey: SigningKey;
}

const algorithmsByCurve: Record<string, string> = {
  'P-256': 'ES256',
  'P-384': 'ES384',
  'P-521': 'ES512',
  Ed25519: 'EdDSA',
};

/** A new private key for ES256. Its id is its thumbprint. */
export function generateSigningKey(): SigningKey {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const key: SigningKey = { ...privateKey.export({ format: 'jwk' }), alg: 'ES256' };
  return { ...key, kid: thumbprint(key) };
}

/** Throws for a key that cannot be used. */
export function readSigner(jwk: SigningKey): Signer {
  const publicKey = publicPart(jwk);
  const { kid = '', alg = '' } = publicKey;
  try {
    return { kid, alg, key: createPrivateKey({ key: jwk, format: 'jwk' }), publicKey };
  } catch (cause) {
    throw unusable(kid, 'it is not a private JSON Web Key', cause);
  }
}

/** The public key, with its id and its algorithm. */
export function publicPart(jwk: SigningKey): SigningKey {
  const kid = jwk.kid ?? thumbprint(jwk);
  const alg = jwk.alg ?? (jwk.kty === 'RSA' ? 'RS256' : algorithmsByCurve[jwk.crv ?? '']);
  const expected = alg === undefined ? undefined : algorithms.get(alg);
  if (alg === undefined || !expected || !isFor(expected, jwk))
    throw unusable(kid, `its type is none of ${[...algorithms.keys()].join(', ')}`);
  try {
    return { ...createPublicKey({ key: jwk, format: 'jwk' }).export({ format: 'jwk' }), kid, alg, use: 'sig' };
  } catch (cause) {
    throw unusable(kid, 'it is not a JSON Web Key', cause);
  }
}

/** Whether the key is for the algorithm. */
export function isFor({ kty, curve }: Algorithm, key: SigningKey): boolean {
  return key.kty === kty && (curve === undefined || key.crv === curve);
}

/** The options of `node:crypto` for the algorithm. */
export function signatureOptions({ isPss }: Algorithm) {
  return {
    dsaEncoding: 'ieee-p1363' as const,
    ...(isPss ? { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST } : {}),
  };
}

/** The protected header and the signature of a JWS, both as base64url. */
export function signJws(payload: string, signer: Signer, header: object): { protected: string; signature: string } {
  const { kid, alg, key } = signer;
  const algorithm = algorithms.get(alg);
  if (!algorithm) throw unusable(kid, `there is no algorithm ${alg}`);
  const encoded = base64url(JSON.stringify({ alg, kid, ...header }));
  const input = Buffer.from(`${encoded}.${base64url(payload)}`);
  const signature = sign(algorithm.hash, input, { key, ...signatureOptions(algorithm) }).toString('base64url');
  return { protected: encoded, signature };
}

export function base64url(text: string): string {
  return Buffer.from(text).toString('base64url');
}

/** RFC 7638. */
function thumbprint({ kty, crv, x, y, n, e }: SigningKey): string {
  const members = kty === 'RSA' ? { e, kty, n } : kty === 'EC' ? { crv, kty, x, y } : { crv, kty, x };
  return createHash('sha256').update(JSON.stringify(members)).digest('base64url');
}

function unusable(kid: string, reason: string, cause?: unknown): PocketError {
  return new PocketError('CONFIG_INVALID', `The signing key "${kid}" cannot be used: ${reason}.`, { cause });
}
