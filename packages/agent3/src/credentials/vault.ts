// Encrypts credentials at rest (AES-256-GCM), bound to the agent and to the hosts its card named at registration.
import { createCipheriv, createDecipheriv, createHash, randomBytes, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { Agent3Error } from '../base/agent3-error.ts';
import type { Credential } from '../base/agents.ts';

const MIN_PASSPHRASE_LENGTH = 12;
const SCRYPT = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 1_024 * 1_024 };
const IV_BYTES = 12;
const TAG_BYTES = 16;

export interface Sealed {
  credentials: readonly Credential[];
  hosts: readonly string[];
}

interface VaultOptions {
  /** 32 bytes as base64 or hex, or a passphrase. */
  secretKey?: string | undefined;
  /** Previous keys: used for decryption only. */
  oldSecretKeys?: readonly string[] | undefined;
  /** From the database, so that all hubs derive the same key from one passphrase. */
  salt: string;
}

interface Key {
  id: string;
  bytes: Buffer;
}

export async function openVault({ secretKey, oldSecretKeys = [], salt }: VaultOptions): Promise<Vault> {
  const secrets = [...(secretKey ? [secretKey] : []), ...oldSecretKeys];
  const keys = await Promise.all(secrets.map((text) => readKey(text, salt)));
  return new Vault(keys, Boolean(secretKey));
}

export class Vault {
  readonly #keys: readonly Key[];
  readonly #canSeal: boolean;

  constructor(keys: readonly Key[], canSeal: boolean) {
    this.#keys = keys;
    this.#canSeal = canSeal;
  }

  seal(agentId: string, content: Sealed): string {
    const [key] = this.#keys;
    if (!key || !this.#canSeal)
      throw new Agent3Error(
        'SECRET_KEY',
        'Credentials are stored only encrypted: set AGENT3_SECRET_KEY to 32 random bytes (openssl rand -base64 32)',
      );
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv('aes-256-gcm', key.bytes, iv).setAAD(Buffer.from(agentId));
    const text = Buffer.concat([cipher.update(JSON.stringify(content), 'utf8'), cipher.final()]);
    return `1.${key.id}.${Buffer.concat([iv, cipher.getAuthTag(), text]).toString('base64url')}`;
  }

  /** `isOld`: sealed with a previous key, so it should be sealed again. */
  open(agentId: string, sealed: string): { content: Sealed; isOld: boolean } {
    const [, keyId, data = ''] = sealed.split('.');
    const key = this.#keys.find(({ id }) => id === keyId);
    if (!key)
      throw new Agent3Error(
        'SECRET_KEY',
        `The credentials of "${agentId}" were encrypted with another key: set AGENT3_SECRET_KEY to that key, or ` +
          'add it to AGENT3_SECRET_KEYS_OLD',
      );
    const bytes = Buffer.from(data, 'base64url');
    try {
      const decipher = createDecipheriv('aes-256-gcm', key.bytes, bytes.subarray(0, IV_BYTES))
        .setAAD(Buffer.from(agentId))
        .setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
      const text = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]);
      return { content: JSON.parse(text.toString('utf8')), isOld: this.#canSeal && key !== this.#keys[0] };
    } catch {
      throw new Agent3Error('SECRET_KEY', `The credentials of "${agentId}" are damaged; register them again`);
    }
  }
}

async function readKey(text: string, salt: string): Promise<Key> {
  const bytes = rawKey(text) ?? (await derivedKey(text, salt));
  return { bytes, id: createHash('sha256').update('agent3 key id').update(bytes).digest('hex').slice(0, 12) };
}

function rawKey(text: string): Buffer | undefined {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex');
  if (/^[\w+/-]{43}=?$/.test(text)) return Buffer.from(text, 'base64');
  return undefined;
}

async function derivedKey(passphrase: string, salt: string): Promise<Buffer> {
  if (passphrase.length < MIN_PASSPHRASE_LENGTH)
    throw new Agent3Error(
      'SECRET_KEY',
      `AGENT3_SECRET_KEY must be 32 bytes in base64 or hex, or a passphrase of at least ${MIN_PASSPHRASE_LENGTH} characters`,
    );
  return promisify<string, string, number, typeof SCRYPT, Buffer>(scrypt)(passphrase, salt, 32, SCRYPT);
}
