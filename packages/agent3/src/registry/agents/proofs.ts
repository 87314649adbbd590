// Proofs that an agent belongs to an owner: its card names the owner, or a file on its host has the owner's code.
import { createHmac } from 'node:crypto';
import type { Caller } from '../../base/agent3.ts';
import type { ClaimResult } from '../../base/agents.ts';
import { ownersOf, soleOrigin } from '../../cards/card.ts';
import type { CheckedCard } from '../../cards/card-checks.ts';
import type { CardSource } from '../../cards/card-source.ts';
import type { AgentRow } from '../records/listing.ts';

export type Proof = NonNullable<AgentRow['proof']>;

export const PROOF_PATH = '/.well-known/agent3-owner.txt';

interface ProofsOptions {
  source: CardSource;
  /** Of the database, so that the code of an owner is valid for all of its hubs and for no other. */
  key: string;
}

export class Proofs {
  readonly #options: ProofsOptions;

  constructor(options: ProofsOptions) {
    this.#options = options;
  }

  /** Without a request: whether the card, which its host sent or signed, names the caller. */
  inCard(checked: CheckedCard, caller: Caller): Proof | undefined {
    if (!provenOwners(checked)?.includes(caller.id)) return undefined;
    return checked.url === undefined ? 'signature' : 'card';
  }

  /** The card, otherwise the file. */
  async find(checked: CheckedCard, caller: Caller): Promise<Proof | undefined> {
    const named = this.inCard(checked, caller);
    if (named) return named;
    const file = this.fileFor(checked, caller);
    if (!file) return undefined;
    const lines = await this.#options.source.fetchLines(file.url).catch((): string[] => []);
    return lines.includes(file.content) ? 'file' : undefined;
  }

  /** The file that proves the ownership; undefined if the card has no host. */
  fileFor({ url, card }: CheckedCard, caller: Caller): ClaimResult['file'] {
    const origin = url === undefined ? soleOrigin(card) : new URL(url).origin;
    if (origin === undefined) return undefined;
    const code = createHmac('sha256', this.#options.key)
      .update(JSON.stringify([origin, caller.id]))
      .digest('base64url');
    return { url: `${origin}${PROOF_PATH}`, content: `agent3-owner=${code}` };
  }
}

/** The owners that the card names, if its host sent or signed it. */
export function provenOwners({ url, card, isVerified }: CheckedCard): string[] | undefined {
  return url !== undefined || isVerified ? ownersOf(card) : undefined;
}
