// Which agents and hosts may be called.
import { isHost } from '@pocket-agent/http/fetch';
import { CallFailure } from '../base/call-failure.ts';

/** With an allow list, only its entries are allowed; deny lists take precedence. Hosts: `name`, `name:port` or `*.name`. */
export interface CallPolicy {
  allowAgents?: readonly string[];
  denyAgents?: readonly string[];
  allowHosts?: readonly string[];
  denyHosts?: readonly string[];
}

export function checkAgent({ allowAgents, denyAgents = [] }: CallPolicy, agentId: string): void {
  if (denyAgents.includes(agentId) || (allowAgents && !allowAgents.includes(agentId)))
    throw new CallFailure('REFUSED', 'the policy of this hub does not allow calls to it.');
}

export function checkHost({ allowHosts, denyHosts = [] }: CallPolicy, url: URL): void {
  const matches = (pattern: string) => isHost(pattern, url);
  if (denyHosts.some(matches) || (allowHosts && !allowHosts.some(matches)))
    throw new CallFailure('REFUSED', `the policy of this hub does not allow calls to the host ${url.host}.`);
}
