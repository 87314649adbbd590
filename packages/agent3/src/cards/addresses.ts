// The addresses of an agent's interfaces in a normalized form, for finding registrations of the same agent.
import { hash } from 'node:crypto';
import { endpointOf, interfacesOf } from '@pocket-agent/a2a/client';
import type { CardJson } from '../base/agents.ts';

/** Databases limit the length of an indexed string; a longer address is replaced by its hash. */
const MAX_ADDRESS_LENGTH = 500;

/** Different spellings of one address become equal. Scheme and query are left out. */
export function addressesOf(card: CardJson): string[] {
  const addresses = interfacesOf(card).flatMap(({ url }) => (typeof url === 'string' ? [addressOf(url)] : []));
  return [...new Set(addresses.map(shortened))];
}

/** The address that calls go to: of the interface a client chooses, otherwise of the first. */
export function serviceOf(card: CardJson): { service: string; host: string } {
  const url = chosenUrl(card) ?? interfacesOf(card)[0]?.url;
  if (typeof url !== 'string') return { service: '', host: '' };
  const service = shortened(addressOf(url));
  return { service, host: service.split('/')[0] ?? '' };
}

function chosenUrl(card: CardJson): string | undefined {
  try {
    return endpointOf(card).url.href;
  } catch {
    return undefined; // no interface that calls can use
  }
}

function shortened(address: string): string {
  return address.length > MAX_ADDRESS_LENGTH ? hash('sha256', address) : address;
}

function addressOf(url: string): string {
  const parsed = URL.parse(url);
  if (!parsed || parsed.host === '') return url; // gRPC interfaces are `host:port`
  const { hostname, port, pathname } = parsed;
  return `${hostname.replace(/\.$/, '')}${port === '' ? '' : `:${port}`}${normalizedPath(pathname).replace(/\/$/, '')}`;
}

/** Different spellings of one path become equal. */
export function normalizedPath(path: string): string {
  return path
    .replace(/%[0-9a-f]{2}/gi, (code) => {
      const character = String.fromCharCode(Number.parseInt(code.slice(1), 16));
      return /[\w.~-]/.test(character) ? character : code.toUpperCase();
    })
    .replace(/\/{2,}/g, '/');
}
