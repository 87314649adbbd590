// Nothing comes into the registry unchecked: size, the specification, where it may be called, and its signature.

import { Agent3Error } from '../base/agent3-error.ts';
import { canonicalJson } from '../base/canonical-json.ts';
import { isTooDeep, MAX_DEPTH } from '../base/json.ts';
import type { CardJson } from '../base/types.ts';
import { type Card, readCard } from './card.ts';
import type { CardSource, FetchedCard } from './card-source.ts';
import { type SigningKey, verifyCard } from './signature.ts';

const MAX_CARD_LENGTH = 256 * 1_024;
const MAX_PARAMETERS = 10;

/** A card that was checked, with what is known of where it came from. */
export interface CheckedCard {
  json: CardJson;
  card: Card;
  url: string | undefined;
  etag: string | undefined;
  freshMs: number | undefined;
  isVerified: boolean;
}

export class CardChecks {
  readonly #options: { source: CardSource; trustedKeys: readonly SigningKey[] };

  constructor(options: { source: CardSource; trustedKeys: readonly SigningKey[] }) {
    this.#options = options;
  }

  /** Throws when the card cannot be had, breaks the specification, or has a signature that is wrong. */
  async fetch(address: string): Promise<CheckedCard> {
    const { source } = this.#options;
    let fetched = await this.#fetch(source.cardUrl(address));
    const names = [...new Set(new URL(fetched.url).searchParams.keys())];
    if (names.length > MAX_PARAMETERS)
      throw new Agent3Error('INPUT_INVALID', `cardUrl has more than ${MAX_PARAMETERS} parameters`);
    // parameters that make no difference are left out: they would make one agent look like many
    for (const name of names) {
      const shorter = await this.#fetch(without(fetched.url, name)).catch(() => undefined);
      if (shorter && isSameAgent(fetched.card, shorter.card)) fetched = shorter;
    }
    return this.check(fetched.card, fetched);
  }

  async #fetch(url: string): Promise<FetchedCard & { isChanged: true }> {
    const fetched = await this.#options.source.fetchCard(url);
    if (!fetched.isChanged) throw new Agent3Error('CARD_UNAVAILABLE', 'The card was not sent');
    return fetched;
  }

  async check(
    json: CardJson,
    from: { url?: string; etag?: string | undefined; freshMs?: number } = {},
  ): Promise<CheckedCard> {
    const { source } = this.#options;
    if (isTooDeep(json)) throw new Agent3Error('CARD_INVALID', `The card is nested more than ${MAX_DEPTH} levels deep`);
    if (canonicalJson(json).length > MAX_CARD_LENGTH)
      throw new Agent3Error('CARD_INVALID', `The card is larger than ${MAX_CARD_LENGTH / 1_024} KiB`);
    const card = readCard(json);
    for (const { url } of card.supportedInterfaces) {
      const parsed = URL.parse(url);
      if (parsed && /^https?:$/.test(parsed.protocol)) source.checkScheme(parsed, 'An interface of the card');
    }
    const state = await verifyCard(json, (header) => this.#keysFor(header, from.url ?? soleOrigin(card)));
    if (state === 'invalid')
      throw new Agent3Error(
        'SIGNATURE_INVALID',
        'The signature of the card does not fit it: the card was changed after it was signed. Sign it again.',
      );
    return {
      json,
      card,
      url: from.url,
      etag: from.etag,
      freshMs: from.freshMs,
      isVerified: state === 'valid',
    };
  }

  /** Keys we were given count for every card; a `jku` only where the card itself lives. */
  async #keysFor(
    { kid, jku }: { kid: string; jku: string | undefined },
    cardUrl: string | undefined,
  ): Promise<SigningKey[]> {
    const { trustedKeys, source } = this.#options;
    const trusted = trustedKeys.filter((key) => key.kid === kid);
    if (trusted.length > 0 || jku === undefined || cardUrl === undefined) return trusted;
    if (URL.parse(jku)?.origin !== new URL(cardUrl).origin) return [];
    const keys = await source.fetchKeys(jku).catch((): SigningKey[] => []); // without keys it is not verified
    return keys.filter((key) => key.kid === kid);
  }
}

function without(url: string, parameter: string): string {
  const shorter = new URL(url);
  shorter.searchParams.delete(parameter);
  return shorter.href.replace(/\?$/, '');
}

/** Both are called at the same addresses. */
function isSameAgent(one: CardJson, other: CardJson): boolean {
  try {
    const [a, b] = [one, other].map((json) => canonicalJson(readCard(json).supportedInterfaces));
    return a === b;
  } catch {
    return false;
  }
}

/** Where a card that was handed in lives: the one origin all its interfaces have. */
function soleOrigin(card: Card): string | undefined {
  const origins = new Set(card.supportedInterfaces.map(({ url }) => URL.parse(url)?.origin));
  const [origin] = origins;
  return origins.size === 1 && origin !== 'null' ? origin : undefined;
}
