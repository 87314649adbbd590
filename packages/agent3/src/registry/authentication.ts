// What a call of an agent must show, and whether the vault has it. Never a secret.
import type { Credential, Invocation } from '../types.ts';
import type { Card } from './card.ts';

const kindOfScheme: Record<string, Credential['type'] | undefined> = {
  apiKeySecurityScheme: 'apiKey',
  oauth2SecurityScheme: 'oauth2',
};

/** bearer, basic, apiKey, oauth2, or the name the specification gives it. */
function kindOf(scheme: Record<string, unknown>): string {
  const [name = 'unknown'] = Object.keys(scheme);
  const content = scheme[name];
  if (name !== 'httpAuthSecurityScheme') return kindOfScheme[name] ?? name.replace(/SecurityScheme$/, '');
  const http = typeof content === 'object' && content !== null && 'scheme' in content ? String(content.scheme) : '';
  return http.toLowerCase();
}

export function authenticationOf(card: Card, credentials: readonly Credential[]): Invocation['authentication'] {
  const declared = card.securitySchemes ?? {};
  const alternatives = (card.securityRequirements ?? []).map(({ schemes }) => Object.keys(schemes ?? {}));
  const names = new Set(alternatives.length > 0 ? alternatives.flat() : []);
  const schemes = [...names].map((name) => kindOf(declared[name] ?? {}));
  const has = (name: string) => {
    const kind = kindOf(declared[name] ?? {});
    return credentials.some(({ type, scheme }) => scheme === name || (scheme === undefined && fits(type, kind)));
  };
  const required = alternatives.length > 0 && alternatives.every((needed) => needed.length > 0);
  return {
    schemes: [...new Set(schemes)],
    required,
    available: !required || alternatives.some((needed) => needed.every(has)),
  };
}

/** A bearer token may also be what an OAuth login gave. */
function fits(type: Credential['type'], kind: string): boolean {
  return (
    type === kind ||
    (type === 'bearer' && (kind === 'oauth2' || kind === 'openIdConnect')) ||
    (type === 'oauth2' && kind === 'bearer')
  );
}
