// Signs agent cards: one signature for each key and each canonical form in use.
import { dropOldest } from '@pocket-agent/kit';
import { canonicalJson, withoutDefaults, withoutEmpty } from './canonical-json.ts';
import { type Signer, signJws } from './signing-key.ts';
import type { CurrentKeys, SigningKeys } from './signing-keys.ts';

type CardJson = Record<string, unknown>;

/** Cards kept: one for each version of the protocol, and a few addresses of the server. */
const MAX_CARDS = 50;

export class CardSigner {
  readonly #keys: SigningKeys;
  /** The same card keeps its signatures, so that caches stay valid. */
  readonly #cards = new Map<string, CardJson>();

  constructor(keys: SigningKeys) {
    this.#keys = keys;
  }

  /** What the JWK set shows. Throws if the keys cannot be used. */
  async published(): Promise<CurrentKeys['published']> {
    return (await this.#keys.current()).published;
  }

  /** The card with its signatures. `modern`: the same card without the fields of 0.3, as readers of A2A 1.0 see it. */
  async sign(card: object, { jku, modern }: { jku: string; modern: object }): Promise<CardJson> {
    const { signers } = await this.#keys.current();
    const content = withoutDefaults(card) as CardJson;
    const whole = canonicalJson(content);
    const key = JSON.stringify([jku, signers.map(({ kid }) => kid), whole]);
    const known = this.#cards.get(key);
    if (known) return known;
    const read = withoutDefaults(modern);
    const payloads = new Set([canonicalJson(withoutEmpty(read) ?? {}), whole, canonicalJson(read)]);
    const signed = { ...content, signatures: signers.flatMap((signer) => signaturesBy(signer, payloads, jku)) };
    this.#cards.set(key, signed);
    dropOldest(this.#cards, MAX_CARDS);
    return signed;
  }
}

function signaturesBy(signer: Signer, payloads: ReadonlySet<string>, jku: string): object[] {
  return [...payloads].map((payload) => signJws(payload, signer, { typ: 'JOSE', jku }));
}
