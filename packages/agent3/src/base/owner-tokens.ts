// Tokens of owners: a name and the proof that the hub gave it out. Nothing is stored, so all hubs of one key know them.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { Agent3Error } from './agent3-error.ts';
import type { Caller } from './types.ts';

export interface OwnerTokensOptions {
  /** The same in all hubs side by side. */
  key: string;
  /** Owners who may change what others registered. */
  admins?: readonly string[];
  /** Owners whose tokens no longer count. */
  revoked?: readonly string[];
}

/** Whoever may start a program here needs no token, and may do everything with its registry. */
export const localOwner: Caller = { id: 'local', isAdmin: true, isLocal: true };

/** Callers without a token: the operator, and who only reads. Owners with these names would share what is theirs. */
const RESERVED = ['local', 'visitor'];
const OWNER = /^[a-z0-9][a-z0-9._-]{0,62}$/;

export class OwnerTokens {
  readonly #options: OwnerTokensOptions;

  constructor(options: OwnerTokensOptions) {
    this.#options = options;
  }

  issue(owner: string): string {
    if (!OWNER.test(owner)) {
      throw new Agent3Error(
        'INPUT_INVALID',
        `"${owner}" is no name of an owner: small letters, digits, . _ and -, at most 63`,
      );
    }
    if (RESERVED.includes(owner))
      throw new Agent3Error('INPUT_INVALID', `"${owner}" is reserved for those without a token; choose another name`);
    return `a3_${owner}_${this.#proof(owner).toString('base64url')}`;
  }

  /** Undefined when the token is not one of ours, or no longer. */
  read(token: string): Caller | undefined {
    const [, owner = '', proof = ''] = /^a3_([a-z0-9._-]+?)_([\w-]{43})$/.exec(token) ?? [];
    const { admins = [], revoked = [] } = this.#options;
    const given = Buffer.from(proof, 'base64url');
    const expected = this.#proof(owner);
    const isGenuine = given.length === expected.length && timingSafeEqual(given, expected);
    if (!isGenuine || !OWNER.test(owner) || RESERVED.includes(owner) || revoked.includes(owner)) return undefined;
    return { id: owner, ...(admins.includes(owner) ? { isAdmin: true } : {}) };
  }

  #proof(owner: string): Buffer {
    return createHmac('sha256', this.#options.key).update(`owner token\0${owner}`).digest();
  }
}
