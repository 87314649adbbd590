// Where and how an agent is spoken to: the first interface of its card that the bridge can use.
import { hash } from 'node:crypto';
import { CallFailure } from '../../base/call-failure.ts';
import { recordsIn, textIn } from '../../base/json.ts';
import type { CardJson } from '../../base/types.ts';
import type { Dialect } from './wire.ts';

export interface Endpoint {
  url: URL;
  binding: 'JSONRPC' | 'HTTP+JSON';
  /** As the header `A2A-Version` says it. */
  version: '1.0' | '0.3';
  dialect: Dialect;
  tenant?: string;
}

interface Candidate {
  url: unknown;
  binding: unknown;
  version: unknown;
  tenant?: unknown;
}

export function endpointOf(card: CardJson): Endpoint {
  const candidates = candidatesOf(card);
  for (const candidate of candidates) {
    const endpoint = usable(candidate);
    if (endpoint) return endpoint;
  }
  const offered = candidates.map(({ binding, version }) => `${shown(binding)} ${shown(version)}`).join(', ');
  throw new CallFailure(
    'PROTOCOL',
    `its card offers no interface the bridge speaks (${offered || 'none at all'}); JSONRPC and HTTP+JSON in 1.0 and 0.3 are spoken.`,
  );
}

/** Databases limit the length of an indexed text; a longer address is replaced by its hash. */
const MAX_ADDRESS_LENGTH = 500;

/** The addresses of all interfaces, in a form in which spellings of one address are equal; the scheme and query do not count. */
export function addressesOf(card: CardJson): string[] {
  const addresses = candidatesOf(card).flatMap(({ url }) => (typeof url === 'string' ? [addressOf(url)] : []));
  return [
    ...new Set(addresses.map((address) => (address.length > MAX_ADDRESS_LENGTH ? hash('sha256', address) : address))),
  ];
}

function addressOf(url: string): string {
  const parsed = URL.parse(url);
  if (!parsed || parsed.host === '') return url; // gRPC interfaces are `host:port`
  const { hostname, port, pathname } = parsed;
  return `${hostname.replace(/\.$/, '')}${port === '' ? '' : `:${port}`}${normalizedPath(pathname).replace(/\/$/, '')}`;
}

/** Without spellings that servers do not tell apart. */
export function normalizedPath(path: string): string {
  return path
    .replace(/%[0-9a-f]{2}/gi, (code) => {
      const character = String.fromCharCode(Number.parseInt(code.slice(1), 16));
      return /[\w.~-]/.test(character) ? character : code.toUpperCase();
    })
    .replace(/\/{2,}/g, '/');
}

function candidatesOf(card: CardJson): Candidate[] {
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

function usable({ url, binding, version, tenant }: Candidate): Endpoint | undefined {
  if (binding !== 'JSONRPC' && binding !== 'HTTP+JSON') return undefined;
  const spoken = /^1(?:$|\.0(?:\.|$))/.test(String(version))
    ? '1.0'
    : /^0\.3(?:\.|$)/.test(String(version))
      ? '0.3'
      : undefined;
  if (!spoken || typeof url !== 'string' || !URL.canParse(url)) return undefined;
  const target = new URL(url);
  if (target.username || target.password) return undefined;
  const dialect = spoken === '0.3' && binding === 'HTTP+JSON' ? '0.3-rest' : spoken;
  return { url: target, binding, version: spoken, dialect, tenant: textIn(tenant) };
}

function shown(value: unknown): string {
  return typeof value === 'string' && /^[\w.+-]{1,20}$/.test(value) ? value : '?';
}
