// The authentication that a call needs, and whether credentials for it are registered; never a secret.

import { isRecord } from '@pocket-agent/kit';
import type { Credential, Invocation, ListedAgent } from '../../base/agents.ts';
import { readCard } from '../../cards/card.ts';
import { serverOf } from '../../cards/mcp-server.ts';
import { plannedCredentials } from '../../credentials/authorization.ts';

const kindOfScheme: Record<string, Credential['type'] | undefined> = {
  apiKeySecurityScheme: 'apiKey',
  oauth2SecurityScheme: 'oauth2',
};

/** bearer, basic, apiKey, oauth2, or the name in the specification. */
function kindOf(scheme: Record<string, unknown>): string {
  const [name = 'unknown'] = Object.keys(scheme);
  const content = scheme[name];
  if (name !== 'httpAuthSecurityScheme') return kindOfScheme[name] ?? name.replace(/SecurityScheme$/, '');
  return isRecord(content) && 'scheme' in content ? String(content.scheme).toLowerCase() : '';
}

export function authenticationOf(agent: ListedAgent, credentials: readonly Credential[]): Invocation['authentication'] {
  // the client or gateway that connects to an MCP server brings the credentials
  if (serverOf(agent.card)) return { schemes: [], required: false, available: true };
  const { securitySchemes: declared = {}, securityRequirements = [] } = readCard(agent.card);
  const alternatives = securityRequirements.map(({ schemes }) => Object.keys(schemes ?? {}));
  const kinds = alternatives.flat().map((name) => kindOf(declared[name] ?? {}));
  const required = alternatives.length > 0 && alternatives.every((needed) => needed.length > 0);
  const { sends, problem } = plannedCredentials(agent, credentials);
  const facts = { schemes: [...new Set(kinds)], required, available: problem === undefined, sends };
  return { ...facts, ...(problem === undefined ? {} : { problem }) };
}
