// Converts cards of A2A 0.3 to the shape of 1.0. Signatures are checked on the original card, not on this.
import { isRecord } from '@pocket-agent/kit';
import type { CardJson } from '../base/agents.ts';

export function isV03(card: CardJson): boolean {
  return card.supportedInterfaces === undefined && typeof card.url === 'string';
}

/** Takes a card that is valid by the schema of 0.3. */
export function fromV03(card: CardJson): CardJson {
  const {
    url,
    preferredTransport = 'JSONRPC',
    additionalInterfaces,
    protocolVersion,
    security,
    securitySchemes,
  } = card;
  const { supportsAuthenticatedExtendedCard, capabilities, skills, signatures: _signatures, ...kept } = card;
  for (const name of ['url', 'preferredTransport', 'additionalInterfaces', 'protocolVersion', 'security'])
    delete kept[name];
  const version = majorMinor(protocolVersion);
  const first = { url, protocolBinding: preferredTransport, protocolVersion: version };
  const others = list(additionalInterfaces)
    .map((item) => ({ url: item.url, protocolBinding: item.transport, protocolVersion: version }))
    .filter((item) => item.url !== first.url || item.protocolBinding !== first.protocolBinding);
  return {
    ...kept,
    supportedInterfaces: [first, ...others],
    capabilities: {
      ...record(capabilities),
      ...(supportsAuthenticatedExtendedCard === true ? { extendedAgentCard: true } : {}),
    },
    skills: list(skills).map(({ security: needs, ...skill }) => ({
      ...skill,
      ...(needs === undefined ? {} : { securityRequirements: convertRequirements(needs) }),
    })),
    ...(securitySchemes === undefined ? {} : { securitySchemes: convertSchemes(securitySchemes) }),
    ...(security === undefined ? {} : { securityRequirements: convertRequirements(security) }),
  };
}

function majorMinor(version: unknown): string {
  return /^\d+\.\d+/.exec(String(version ?? ''))?.[0] ?? '0.3';
}

function convertSchemes(value: unknown): CardJson {
  return Object.fromEntries(Object.entries(record(value)).map(([name, scheme]) => [name, wrapScheme(record(scheme))]));
}

function wrapScheme({ type, ...rest }: CardJson): CardJson {
  switch (type) {
    case 'apiKey': {
      const { in: location, ...others } = rest;
      return { apiKeySecurityScheme: { ...others, location } };
    }
    case 'http':
      return { httpAuthSecurityScheme: rest };
    case 'oauth2':
      return { oauth2SecurityScheme: rest };
    case 'openIdConnect':
      return { openIdConnectSecurityScheme: rest };
    case 'mutualTLS':
      return { mtlsSecurityScheme: rest };
    default:
      return {};
  }
}

function convertRequirements(value: unknown): CardJson[] {
  return list(value).map((requirement) => ({
    schemes: Object.fromEntries(Object.entries(requirement).map(([name, scopes]) => [name, { list: scopes }])),
  }));
}

function list(value: unknown): CardJson[] {
  return Array.isArray(value) ? value.map(record) : [];
}

function record(value: unknown): CardJson {
  return isRecord(value) ? value : {};
}
