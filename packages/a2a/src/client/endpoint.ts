// Chooses the interface of an agent card that the client uses.
import { nonEmptyString, recordsIn } from '@pocket-agent/kit';
import { A2aError } from './a2a-error.ts';

/** A larger agent card is refused. */
export const MAX_CARD_BYTES = 1_000_000;

/** The form of the JSON: in 0.3, the REST binding differs from JSON-RPC. */
export type Dialect = '1.0' | '0.3' | '0.3-rest';

/** One address of an agent, with its binding and protocol version. */
export interface Endpoint {
  url: URL;
  binding: 'JSONRPC' | 'HTTP+JSON';
  /** The value of the header `A2A-Version`. */
  version: '1.0' | '0.3';
  dialect: Dialect;
  tenant?: string;
}

/** An interface as the card declares it, in any version. */
export interface CardInterface {
  url: unknown;
  binding: unknown;
  version: unknown;
  tenant?: unknown;
}

/** The first usable interface of 1.x, otherwise of 0.3. */
export function endpointOf(card: Record<string, unknown>): Endpoint {
  const declared = interfacesOf(card);
  const usable = declared.flatMap((one) => endpointAt(one) ?? []);
  const chosen = usable.find(({ version }) => version === '1.0') ?? usable[0];
  if (chosen) return chosen;
  const offered = declared
    .map(({ binding, version }) => `${printableWord(binding)} ${printableWord(version)}`)
    .join(', ');
  throw new A2aError(
    'PROTOCOL',
    `its card offers no supported interface${offered && ` (only ${offered})`}; supported are JSONRPC and HTTP+JSON in 1.0 and 0.3.`,
  );
}

/** All interfaces of a card, in the form of 1.0. */
export function interfacesOf(card: Record<string, unknown>): CardInterface[] {
  const current = recordsIn(card.supportedInterfaces);
  if (current.length > 0)
    return current.map(({ url, protocolBinding, protocolVersion, tenant }) => ({
      url,
      binding: protocolBinding,
      version: protocolVersion ?? '1.0',
      tenant,
    }));
  const version = card.protocolVersion ?? '0.3';
  const preferred = { url: card.url, binding: card.preferredTransport ?? 'JSONRPC', version };
  const others = recordsIn(card.additionalInterfaces).map(({ url, transport }) => ({
    url,
    binding: transport,
    version,
  }));
  return card.url === undefined ? others : [preferred, ...others];
}

function endpointAt({ url, tenant, ...declared }: CardInterface): Endpoint | undefined {
  const version = supportedVersion(String(declared.version));
  const binding = String(declared.binding).toUpperCase();
  if (!version || (binding !== 'JSONRPC' && binding !== 'HTTP+JSON')) return undefined;
  const target = typeof url === 'string' ? URL.parse(url) : null;
  if (!target || target.username || target.password) return undefined;
  const dialect = version === '0.3' && binding === 'HTTP+JSON' ? '0.3-rest' : version;
  return { url: target, binding, version, dialect, tenant: nonEmptyString(tenant) };
}

function supportedVersion(version: string): Endpoint['version'] | undefined {
  if (/^1(?:\.|$)/.test(version)) return '1.0';
  return /^0\.3(?:\.|$)/.test(version) ? '0.3' : undefined;
}

function printableWord(value: unknown): string {
  return typeof value === 'string' && /^[\w.+-]{1,20}$/.test(value) ? value : '?';
}
