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
const TOKEN = /^a3_([a-z0-9._-]+?)(?:~([a-z0-9]{16}))?_([\w-]{43})$/;

/** Says which named tokens are valid: created by their owner, not expired and not revoked. */
export interface NamedTokenStore {
  isValidToken(owner: string, id: string): Promise<boolean>;
}

export class OwnerTokens {
  readonly #options: OwnerTokensOptions;

  constructor(options: OwnerTokensOptions) {
    this.#options = options;
  }

  /** With `id`, a named token, which a hub accepts only while it knows that id. */
  issue(owner: string, id?: string): string {
    if (!OWNER.test(owner)) {
      throw new Agent3Error(
        'INPUT_INVALID',
        `"${owner}" is not a valid owner name: use at most 63 lower-case letters, digits, . _ and -`,
      );
    }
    if (RESERVED.includes(owner))
      throw new Agent3Error('INPUT_INVALID', `"${owner}" is reserved for callers without a token; choose another name`);
    const name = id === undefined ? owner : `${owner}~${id}`;
    return `a3_${name}_${this.#proof(name)}`;
  }

  /** Undefined if the token is forged or revoked, or a named token, which only `check` accepts. */
  read(token: string): Caller | undefined {
    const genuine = this.#genuine(token);
    return genuine?.id === undefined ? genuine?.caller : undefined;
  }

  /** Like `read`; also accepts named tokens that are valid. */
  async check(token: string, named: NamedTokenStore | undefined): Promise<Caller | undefined> {
    const genuine = this.#genuine(token);
    if (!genuine || genuine.id === undefined) return genuine?.caller;
    return (await named?.isValidToken(genuine.caller.id, genuine.id)) ? genuine.caller : undefined;
  }

  #genuine(token: string): { caller: Caller; id: string | undefined } | undefined {
    const [, owner = '', id, proof = ''] = TOKEN.exec(token) ?? [];
    const { admins = [], revoked = [] } = this.#options;
    const isGenuine = isSameSecret(proof, this.#proof(id === undefined ? owner : `${owner}~${id}`));
    if (!isGenuine || !OWNER.test(owner) || RESERVED.includes(owner) || revoked.includes(owner)) return undefined;
    return { caller: { id: owner, ...(admins.includes(owner) ? { isAdmin: true } : {}) }, id };
  }

  #proof(name: string): string {
    return createHmac('sha256', this.#options.key).update(`owner token\0${name}`).digest('base64url');
  }
}
