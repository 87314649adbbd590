// Which registrations are the same agent, and the ids of new agents.
import { randomBytes } from 'node:crypto';
import type { Caller } from '../../base/agent3.ts';
import { digestOf } from '../../base/digest.ts';
import { normalizedPath } from '../../cards/addresses.ts';
import type { CheckedCard } from '../../cards/card-checks.ts';

/** A card URL identifies one agent for all owners; a card without a URL identifies one agent of its owner. */
export function identityOf({ url, card }: CheckedCard, caller: Caller): string {
  if (url !== undefined) return `url ${normalized(url)}`;
  const [first] = card.supportedInterfaces;
  return `card ${digestOf([caller.id, first?.url, first?.tenant ?? '', card.name])}`;
}

/** Different spellings of one URL become equal. */
function normalized(url: string): string {
  const { protocol, hostname, port, pathname, search } = new URL(url);
  const path = normalizedPath(pathname);
  return `${protocol}//${hostname.replace(/\.$/, '')}${port === '' ? '' : `:${port}`}${path}${search}`;
}

export function newId(name: string): string {
  const readable = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 40);
  return `${readable || 'agent'}-${randomBytes(5).toString('hex')}`;
}
