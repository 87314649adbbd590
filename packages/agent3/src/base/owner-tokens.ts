// Owner tokens: an owner name and an HMAC of it. Nothing is stored, so every hub with the same key accepts them.
import { createHmac } from 'node:crypto';
import { isSameSecret } from '@pocket-agent/kit';
import type { Caller } from './agent3.ts';
import { Agent3Error } from './agent3-error.ts';

/** The key that signs tokens, the admins, and the owners whose tokens are revoked. */
export interface OwnerTokensOptions {
  /** Hubs that share a database need the same key. */
  key: string;
  /** Owners who may change agents of other owners. */
  admins?: readonly string[];
  /** Owners whose tokens are refused. */
  revoked?: readonly string[];
}

/** The user who runs Agent3 in their own process: needs no token and is admin of that registry. */
export const localOwner: Caller = { id: 'local', isAdmin: true, isLocal: true };

/** Callers without a token: the operator, and readers. Owners must not share their ids. */
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
        `"${owner}" is not a valid owner name: use at most 63 lower-case letters, digits, . _ and -`,
      );
    }
    if (RESERVED.includes(owner))
      throw new Agent3Error('INPUT_INVALID', `"${owner}" is reserved for callers without a token; choose another name`);
    return `a3_${owner}_${this.#proof(owner)}`;
  }

  /** Undefined if the token is forged or revoked. */
  read(token: string): Caller | undefined {
    const [, owner = '', proof = ''] = /^a3_([a-z0-9._-]+?)_([\w-]{43})$/.exec(token) ?? [];
    const { admins = [], revoked = [] } = this.#options;
    const isGenuine = isSameSecret(proof, this.#proof(owner));
    if (!isGenuine || !OWNER.test(owner) || RESERVED.includes(owner) || revoked.includes(owner)) return undefined;
    return { id: owner, ...(admins.includes(owner) ? { isAdmin: true } : {}) };
  }

  #proof(owner: string): string {
    return createHmac('sha256', this.#options.key).update(`owner token\0${owner}`).digest('base64url');
  }
}
