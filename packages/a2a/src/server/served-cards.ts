// The agent card of a server as its readers get it: in the version of the reader, signed, with an ETag, and with more for
// authenticated callers.
import { UnsupportedOperationError } from '@a2a-js/sdk/errors';
import { sha256 } from '@pocket-agent/kit';
import type { CardSigner } from '../signing/sign-card.ts';
import type { Call } from '../tasks/server-options.ts';
import { type AgentCard, CARD_PATH, KEYS_PATH, VERSION_HEADER } from '../wire/agent-card.ts';
import { withLegacyFields } from './card.ts';

const CARD_SECONDS = 300;

export interface CardOptions {
  /** The card of a server with this URL. */
  card(base: string): Promise<AgentCard>;
  /** The card for one authenticated caller; undefined if there is none. */
  extendedCard?(base: string, call: Call): Promise<AgentCard | undefined>;
  signer?: CardSigner | undefined;
}

/** Cards and keys of a server. */
export class ServedCards {
  readonly #options: CardOptions;

  constructor(options: CardOptions) {
    this.#options = options;
  }

  /** The response for the path of the card or of its keys; undefined for another path. */
  async respond(request: Request, path: string, base: string): Promise<Response | undefined> {
    const { signer, card } = this.#options;
    const isKeys = signer !== undefined && path === `/${KEYS_PATH}`;
    if (!isKeys && path !== `/${CARD_PATH}`) return undefined;
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return Response.json({ error: 'not found' }, { status: 404 });
    if (isKeys) return cacheable(request, JSON.stringify({ keys: await signer.published() }));
    const isModern = request.headers.get(VERSION_HEADER)?.startsWith('1.') === true;
    return cacheable(request, JSON.stringify(await this.#show(await card(base), base, isModern)));
  }

  /** The result of `GetExtendedAgentCard`. */
  async extended(call: Call, base: string): Promise<object> {
    const card = call.isAuthenticated ? await this.#options.extendedCard?.(base, call) : undefined;
    if (!card) throw new UnsupportedOperationError('This agent has no extended card.');
    return this.#show(card, base, call.version !== '0.3');
  }

  async #show(card: AgentCard, base: string, isModern: boolean): Promise<object> {
    const { signer } = this.#options;
    const shown = isModern ? card : withLegacyFields(card);
    return signer ? signer.sign(shown, { jku: `${base}/${KEYS_PATH}`, modern: card }) : shown;
  }
}

function cacheable(request: Request, body: string): Response {
  const etag = `"${sha256(body).slice(0, 32)}"`;
  const headers = { etag, 'cache-control': `public, max-age=${CARD_SECONDS}`, vary: 'A2A-Version' };
  const etags = request.headers
    .get('if-none-match')
    ?.split(',')
    .map((tag) => tag.trim().replace(/^W\//, ''));
  if (etags?.some((tag) => tag === etag || tag === '*')) return new Response(null, { status: 304, headers });
  return new Response(request.method === 'HEAD' ? null : body, {
    headers: { ...headers, 'content-type': 'application/json' },
  });
}
