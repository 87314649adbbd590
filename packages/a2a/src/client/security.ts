// Reads the security schemes and requirements of a card, in A2A 1.0 and 0.3.

import { isRecord, nonEmptyString, recordsIn, stringsIn } from '@pocket-agent/kit';

/** How a card wants callers to authenticate. */
export type Scheme =
  | { type: 'apiKey'; place: 'header' | 'query' | 'cookie'; name: string }
  | { type: 'bearer' }
  | { type: 'basic' }
  | { type: 'oauth2'; tokenUrl?: string; device?: { deviceUrl: string; tokenUrl: string } }
  | { type: 'other' };

/** Scheme names with their scopes; a call must satisfy all of them. */
export type Requirement = Record<string, string[]>;

/** The security schemes and requirements of a card. */
export interface Security {
  schemes: Map<string, Scheme>;
  /** A call must satisfy one of these. */
  alternatives: Requirement[];
  /** Whether the card declares any scheme or requirement. */
  isDeclared: boolean;
}

/** Reads them for the whole agent, or for one of its skills. */
export function securityOf(card: Record<string, unknown>, skillId: string | undefined): Security {
  const schemes = new Map<string, Scheme>();
  for (const [name, scheme] of Object.entries(isRecord(card.securitySchemes) ? card.securitySchemes : {}))
    schemes.set(name, readScheme(scheme));
  const skill = recordsIn(card.skills).find(({ id }) => skillId !== undefined && id === skillId);
  const skillRequirements = skill ? requirementsOf(skill) : [];
  const alternatives = skillRequirements.length > 0 ? skillRequirements : requirementsOf(card);
  const isDeclared = schemes.size > 0 || alternatives.length > 0;
  // a card that declares schemes without requiring one accepts any of them, or no credentials
  if (alternatives.length === 0) alternatives.push(...[...schemes.keys()].map((name) => ({ [name]: [] })), {});
  return { schemes, alternatives, isDeclared };
}

function requirementsOf(owner: Record<string, unknown>): Requirement[] {
  const current = recordsIn(owner.securityRequirements).map(({ schemes }) => (isRecord(schemes) ? schemes : {}));
  const all = current.length > 0 ? current : recordsIn(owner.security);
  return all.map((requirement) =>
    Object.fromEntries(
      Object.entries(requirement).map(([name, scopes]) => [name, stringsIn(isRecord(scopes) ? scopes.list : scopes)]),
    ),
  );
}

function readScheme(value: unknown): Scheme {
  const { type, ...fields } = flatten(isRecord(value) ? value : {});
  switch (type) {
    case 'apiKey':
    case 'apiKeySecurityScheme': {
      const place = fields.location ?? fields.in;
      const name = nonEmptyString(fields.name);
      return name && (place === 'header' || place === 'query' || place === 'cookie')
        ? { type: 'apiKey', place, name }
        : { type: 'other' };
    }
    case 'http':
    case 'httpAuthSecurityScheme': {
      const scheme = String(fields.scheme).toLowerCase();
      return scheme === 'bearer' || scheme === 'basic' ? { type: scheme } : { type: 'other' };
    }
    case 'oauth2':
    case 'oauth2SecurityScheme': {
      const flows = isRecord(fields.flows) ? fields.flows : {};
      const flowOf = (name: string) => (flows.$case === name ? flows.value : flows[name]);
      const [credentials, device] = [flowOf('clientCredentials'), flowOf('deviceCode')];
      return {
        type: 'oauth2',
        ...(isRecord(credentials) ? { tokenUrl: nonEmptyString(credentials.tokenUrl) } : {}),
        ...(isRecord(device)
          ? { device: { deviceUrl: String(device.deviceAuthorizationUrl), tokenUrl: String(device.tokenUrl) } }
          : {}),
      };
    }
    case 'openIdConnect':
    case 'openIdConnectSecurityScheme':
      return { type: 'oauth2' };
    default:
      return { type: 'other' };
  }
}

/** `{type, …}` of 0.3, `{xSecurityScheme: {…}}` of 1.0, or `{scheme: {$case, value}}`, a bug of the A2A SDK 1.3.0. */
function flatten(value: Record<string, unknown>): Record<string, unknown> {
  if (typeof value.type === 'string') return value;
  const inner = isRecord(value.scheme) ? value.scheme : undefined;
  if (inner && isRecord(inner.value)) return { ...inner.value, type: inner.$case };
  for (const [type, scheme] of Object.entries(value)) if (isRecord(scheme)) return { ...scheme, type };
  return {};
}
