// Who may change an agent and lower its price.
import type { Caller } from '../../base/agent3.ts';
import { Agent3Error } from '../../base/agent3-error.ts';
import type { Price } from '../../base/agents.ts';
import { priceText } from '../../base/price-text.ts';
import { OWNER_EXTENSION } from '../../cards/card.ts';
import type { CheckedCard } from '../../cards/card-checks.ts';
import { type AgentRow, parse } from '../records/listing.ts';
import { type Proof, provenOwners } from './proofs.ts';

interface Right {
  checked: CheckedCard;
  caller: Caller;
  /** How the caller proved that the agent is theirs. */
  proof: Proof | undefined;
}

/** True if the caller takes the agent over from another owner, who proved less. */
export function checkRight(registered: AgentRow | undefined, { checked, caller, proof }: Right): boolean {
  const owners = provenOwners(checked);
  if (owners && !owners.includes(caller.id) && !caller.isAdmin)
    throw new Agent3Error('FORBIDDEN', 'The card of this agent lists its owners, and you are not one of them');
  if (!registered || registered.owner === caller.id) return false;
  if (proof) return true;
  checkOwner(registered.owner, caller);
  return false;
}

export function checkOwner(owner: string, caller: Caller): void {
  if (owner !== caller.id && !caller.isAdmin) throw notTheOwner();
}

export function checkPrice(registered: string | undefined, price: Price | undefined): void {
  if (registered === undefined || !price) return;
  const before = parse<Price>(registered);
  const isKept = (part: 'perCall' | 'perMinute' | 'perToken') => (price[part] ?? 0) >= (before[part] ?? 0);
  if (price.currency === before.currency && isKept('perCall') && isKept('perMinute') && isKept('perToken')) return;
  throw new Agent3Error(
    'FORBIDDEN',
    `Only a person may lower the price of an agent (${priceText(before)}): agent3 register URL --price USD`,
  );
}

export function notTheOwner(): Agent3Error {
  return new Agent3Error(
    'FORBIDDEN',
    'This agent was registered by another owner; only that owner or an admin may change it. If the agent is yours, ' +
      'claim it: agent3 claim ID. Or add yourself to the capabilities.extensions of its card: ' +
      `{ uri: "${OWNER_EXTENSION}", params: { owners: ["you"] } }`,
  );
}

/** For hubs that accept only registrations by proven owners. */
export function proofRequired(file: { url: string; content: string } | undefined): Agent3Error {
  const how = file ? `serve the line ${file.content} at ${file.url}, or name yourself` : 'name yourself';
  return new Agent3Error(
    'FORBIDDEN',
    `This hub accepts agents only from their owners. To prove that this one is yours, ${how} in the ` +
      `capabilities.extensions of its card: { uri: "${OWNER_EXTENSION}", params: { owners: ["you"] } }`,
  );
}
