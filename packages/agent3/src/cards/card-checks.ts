// Checks cards before they enter the registry: size, specification, addresses and signature.
import { canonicalJson, type SigningKey, verifyCard } from '@pocket-agent/a2a/client';
import { Agent3Error } from '../base/agent3-error.ts';
import type { CardJson } from '../base/agents.ts';
import { isTooDeep, MAX_DEPTH } from '../base/check-input.ts';
import type { McpServerJson } from '../base/mcp-server.ts';
import { type Card, readCard, soleOrigin } from './card.ts';
import { type CardSource, type FetchedCard, MAX_CARD_BYTES } from './card-source.ts';
import { cardOfServer } from './mcp-server.ts';
import { serverJsonOf } from './mcp-tools.ts';

const MAX_PARAMETERS = 10;

/** A checked card, with its source if it was fetched. */
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

  /** Throws if the card cannot be fetched, breaks the specification or has an invalid signature. */
  async fetch(address: string): Promise<CheckedCard> {
    const { source } = this.#options;
    let fetched = await this.#fetch(source.cardUrl(address));
    const names = [...new Set(new URL(fetched.url).searchParams.keys())];
    if (names.length > MAX_PARAMETERS)
      throw new Agent3Error('INPUT_INVALID', `cardUrl has more than ${MAX_PARAMETERS} parameters`);
    // drop URL parameters that make no difference; otherwise one agent could be registered many times
    for (const name of names) {
      const shorter = await this.#fetch(withoutParameter(fetched.url, name)).catch(() => undefined);
      if (shorter && isSameAgent(fetched.card, shorter.card)) fetched = shorter;
    }
    return this.check(fetched.card, fetched);
  }

  /** An MCP server by its server.json. Its tools are listed if it answers without a login. */
  async server(server: McpServerJson): Promise<CheckedCard> {
    const { source } = this.#options;
    const url = server.remotes?.find(({ type }) => type === 'streamable-http')?.url;
    const found = url === undefined ? undefined : await source.fetchMcpServer(url).catch(unlessRefused);
    return this.check(cardOfServer(server, found?.tools ?? []));
  }

  /** An MCP server by its address. Throws if it does not answer. */
  async serverAt(url: string): Promise<CheckedCard> {
    const found = await this.#options.source.fetchMcpServer(url);
    return this.check(cardOfServer(serverJsonOf(url, found), found.tools));
  }

  async #fetch(url: string): Promise<FetchedCard & { isChanged: true }> {
    const fetched = await this.#options.source.fetchCard(url);
    if (!fetched.isChanged) throw new Agent3Error('CARD_UNAVAILABLE', 'The server did not send the card');
    return fetched;
  }

  async check(
    json: CardJson,
    from: { url?: string; etag?: string | undefined; freshMs?: number } = {},
  ): Promise<CheckedCard> {
    const { source } = this.#options;
    if (isTooDeep(json)) throw new Agent3Error('CARD_INVALID', `The card is nested more than ${MAX_DEPTH} levels deep`);
    if (canonicalJson(json).length > MAX_CARD_BYTES)
      throw new Agent3Error('CARD_INVALID', `The card is larger than ${MAX_CARD_BYTES / 1_024} KiB`);
    const card = readCard(json);
    for (const { url } of card.supportedInterfaces) {
      const parsed = URL.parse(url);
      if (parsed && /^https?:$/.test(parsed.protocol)) source.checkScheme(parsed, 'An interface of the card');
    }
    const state = await verifyCard(json, (header) => this.#keysFor(header, from.url ?? soleOrigin(card)));
    if (state === 'invalid')
      throw new Agent3Error(
        'SIGNATURE_INVALID',
        'The signature does not match the card: the card was changed after it was signed. Sign it again.',
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

  /** Configured keys count for every card; a `jku` only if it has the origin of the card. */
  async #keysFor(
    { kid, jku }: { kid: string; jku: string | undefined },
    cardUrl: string | undefined,
  ): Promise<SigningKey[]> {
    const { trustedKeys, source } = this.#options;
    const trusted = trustedKeys.filter((key) => key.kid === kid);
    if (trusted.length > 0 || jku === undefined || cardUrl === undefined) return trusted;
    if (URL.parse(jku)?.origin !== new URL(cardUrl).origin) return [];
    const keys = await source.fetchKeys(jku).catch((): SigningKey[] => []); // the card stays unverified
    return keys.filter((key) => key.kid === kid);
  }
}

/** A server that cannot be read now is listed without tools; an address that may not be used is refused. */
function unlessRefused(error: unknown): undefined {
  if (error instanceof Agent3Error && error.code === 'CARD_UNAVAILABLE') return undefined;
  throw error;
}

function withoutParameter(url: string, parameter: string): string {
  const shorter = new URL(url);
  shorter.searchParams.delete(parameter);
  return shorter.href.replace(/\?$/, '');
}

/** Whether both cards name the same interfaces. */
function isSameAgent(one: CardJson, other: CardJson): boolean {
  try {
    const [a, b] = [one, other].map((json) => canonicalJson(readCard(json).supportedInterfaces));
    return a === b;
  } catch {
    return false;
  }
}
