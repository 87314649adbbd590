// The keys of a server: given ones, or generated ones in a folder, which are replaced from time to time.
//
// No verifier sees a gap. During a rotation cards are signed by the old and by the new key, and the JWK set has both, so a
// card and a set of different age still fit. A notification has one signature: that of the oldest key that still signs,
// which every copy of the set has.
import { randomUUID } from 'node:crypto';
import { link, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorText, type Logger, PocketError } from '@pocket-agent/kit';
import { makePrivateFolder } from '@pocket-agent/kit/private-files';
import { generateSigningKey, publicPart, readSigner, type Signer, type SigningKey } from './signing-key.ts';

/** Keys of the program itself: the first is the newest. */
export type KeyList = readonly SigningKey[];

/** How a server signs its card and its notifications: with `keys`, or with generated ones in a `folder`. */
export interface SigningOptions {
  /**
   * Private keys (JWK), the newest first; each signs the card. Public ones are only published. A function is asked again every
   * minute.
   */
  keys?: KeyList | (() => KeyList | Promise<KeyList>);
  /** Keys are generated in this folder, which processes may share, and replaced without a gap. */
  folder?: string;
  /** Age at which a generated key is replaced. Default 90 days. */
  rotateAfterMs?: number;
}

/** The keys of a moment. */
export interface CurrentKeys {
  /** The newest first. */
  signers: readonly Signer[];
  published: readonly SigningKey[];
}

interface StoredKey {
  number: number;
  created: number;
  jwk: SigningKey;
}

const REFRESH_MS = 60_000;
const DAY_MS = 86_400_000;
const ROTATE_MS = 90 * DAY_MS;
/** Longer than anyone may keep a card or a JWK set. */
const OVERLAP_MS = DAY_MS;
const MAX_KEYS = 10;

export class SigningKeys {
  readonly #options: SigningOptions & { logger: Logger };
  #current: Promise<CurrentKeys> | undefined;
  #readAt = 0;

  constructor(options: SigningOptions & { logger: Logger }) {
    this.#options = options;
  }

  /** Throws if there have never been usable keys; a later failure is logged, and the last keys remain. */
  current(): Promise<CurrentKeys> {
    const now = Date.now();
    const last = this.#current;
    if (last && now - this.#readAt < REFRESH_MS) return last;
    this.#readAt = now;
    const next = this.#read().catch((error) => {
      if (!last) {
        this.#current = undefined;
        throw error;
      }
      this.#options.logger.error(`The signing keys cannot be read again: ${errorText(error)}`);
      return last;
    });
    this.#current = next;
    return next;
  }

  async #read(): Promise<CurrentKeys> {
    const { keys, folder } = this.#options;
    if (folder !== undefined) return this.#readFolder(folder);
    const jwks = typeof keys === 'function' ? await keys() : (keys ?? []);
    if (!Array.isArray(jwks) || jwks.length > MAX_KEYS)
      throw new PocketError('CONFIG_INVALID', `signing.keys must be a list of at most ${MAX_KEYS} keys.`);
    return currentOf(jwks, jwks);
  }

  async #readFolder(folder: string): Promise<CurrentKeys> {
    const { rotateAfterMs = ROTATE_MS } = this.#options;
    await makePrivateFolder(folder);
    let stored = await storedIn(folder);
    const [newest] = stored;
    if (!newest || Date.now() - newest.created >= rotateAfterMs) {
      await addKey(folder, { number: (newest?.number ?? 0) + 1, created: Date.now(), jwk: generateSigningKey() });
      stored = await storedIn(folder);
    }
    // how long each key has had a successor
    const ages = stored.map((_, index) => Date.now() - (stored[index - 1]?.created ?? Date.now()));
    const at = (limit: number) => stored.filter((_, index) => (ages[index] ?? 0) < limit).map(({ jwk }) => jwk);
    for (const [index, { number }] of stored.entries())
      if ((ages[index] ?? 0) >= 2 * OVERLAP_MS) await rm(fileOf(folder, number), { force: true });
    return currentOf(at(OVERLAP_MS), at(2 * OVERLAP_MS));
  }
}

function currentOf(signing: readonly SigningKey[], published: readonly SigningKey[]): CurrentKeys {
  const signers = signing.filter(({ d }) => d !== undefined).map(readSigner);
  if (signers.length === 0) throw new PocketError('CONFIG_INVALID', 'signing needs a private key (JWK).');
  return { signers, published: published.map(publicPart) };
}

/** The newest first. */
async function storedIn(folder: string): Promise<StoredKey[]> {
  const names = await readdir(folder);
  const numbers = names.flatMap((name) => /^key-(\d{1,9})\.json$/.exec(name)?.[1] ?? []).map(Number);
  const stored = await Promise.all(
    numbers.sort((one, other) => other - one).map((number) => readKey(fileOf(folder, number), number)),
  );
  return stored.flatMap((key) => key ?? []);
}

/** Undefined if another process has just removed it. */
async function readKey(file: string, number: number): Promise<StoredKey | undefined> {
  try {
    const { created, jwk } = JSON.parse(await readFile(file, 'utf8'));
    return { number, created: Number(created), jwk };
  } catch (cause) {
    if (hasCode(cause, 'ENOENT')) return undefined;
    throw new PocketError('CONFIG_INVALID', `The signing key in ${file} cannot be read. Remove the file.`, { cause });
  }
}

/** `link` is atomic: if several processes add a key, one of them wins, and the others use its key. */
async function addKey(folder: string, { number, created, jwk }: StoredKey): Promise<void> {
  const own = join(folder, `${randomUUID()}.tmp`);
  try {
    await writeFile(own, JSON.stringify({ created, jwk }), { mode: 0o600, flag: 'wx', flush: true });
    await link(own, fileOf(folder, number));
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
  } finally {
    await rm(own, { force: true });
  }
}

function fileOf(folder: string, number: number): string {
  return join(folder, `key-${number}.json`);
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
