// Makes the agent card of a served agent.
import type { PocketAgent, Profile, ProfileName } from 'pocket-agent';
import { readProfile, refusalBy } from 'pocket-agent/internal';
import type { A2aCaller, A2aServerOptions } from '../tasks/server-options.ts';
import type { AgentCard, AgentSkill } from '../wire/agent-card.ts';

export const RPC_PATH = '/a2a/jsonrpc';
export const REST_PATH = '/a2a/rest';

interface CardSource
  extends Pick<
    A2aServerOptions,
    'card' | 'skills' | 'files' | 'profile' | 'pushNotifications' | 'extendedCard' | 'extensions'
  > {
  agent: PocketAgent<unknown>;
  /** The URL of the server, without a trailing slash. */
  base: string;
  /** Whether callers must send a bearer token. */
  hasTokens: boolean;
}

export async function makeCard(source: CardSource): Promise<AgentCard> {
  const { agent, base, hasTokens, card = {}, files = [], pushNotifications, extendedCard, extensions = [] } = source;
  const { name, roleDescription, allowImages } = agent;
  const { capabilities = { streaming: true, pushNotifications: pushNotifications !== false } } = card;
  const all = [...(capabilities.extensions ?? []), ...extensions];
  return {
    name,
    description: roleDescription ?? `The agent ${name}.`,
    version: '1.0.0',
    supportedInterfaces: [
      { url: base + RPC_PATH, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      { url: base + REST_PATH, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
      { url: base + RPC_PATH, protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
    ],
    defaultInputModes: [
      'text/plain',
      'application/json',
      ...(allowImages ? ['image/png', 'image/jpeg'] : []),
      ...files,
    ],
    defaultOutputModes: ['text/plain', 'application/json'],
    ...(hasTokens ? bearer : {}),
    ...card,
    capabilities: {
      ...capabilities,
      ...(all.length > 0 ? { extensions: all } : {}),
      ...(extendedCard === undefined ? {} : { extendedAgentCard: true }),
    },
    skills: card.skills ?? (await skillsOf(source)),
  };
}

const bearer: Pick<AgentCard, 'securitySchemes' | 'securityRequirements'> = {
  securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
  securityRequirements: [{ schemes: { bearer: { list: [] } } }],
};

async function skillsOf({ agent, skills, profile }: CardSource): Promise<AgentSkill[]> {
  const { name, roleDescription } = agent;
  const messageSkill = { id: 'message', name, description: roleDescription ?? `Talks to ${name}.`, tags: ['agent'] };
  return skills === 'tools' ? toolSkills(agent, [profile]) : [messageSkill];
}

/** One skill for each tool that all profiles allow. */
async function toolSkills(
  agent: PocketAgent<unknown>,
  profiles: readonly (ProfileName | Profile | undefined)[],
): Promise<AgentSkill[]> {
  const parsed = profiles.flatMap((profile) => (profile === undefined ? [] : [readProfile(profile)]));
  return (await agent.listTools())
    .filter((tool) => parsed.every((profile) => refusalBy(profile, tool) === undefined))
    .map(({ name: id, capability, tool }) => ({
      id,
      name: tool.title ?? id,
      description: tool.description ?? id,
      tags: [capability],
    }));
}

/** The card for one authenticated caller; undefined if the server has none. */
export async function makeExtendedCard(source: CardSource, caller: A2aCaller): Promise<AgentCard | undefined> {
  const { agent, extendedCard, profile } = source;
  if (extendedCard === undefined) return undefined;
  const card = await makeCard(source);
  if (extendedCard === 'tools') {
    const skills = await toolSkills(agent, [caller.profile, profile]);
    const ids = new Set(skills.map(({ id }) => id));
    return { ...card, skills: [...card.skills.filter(({ id }) => !ids.has(id)), ...skills] };
  }
  return { ...card, ...(typeof extendedCard === 'function' ? await extendedCard(caller) : extendedCard) };
}

/** The card with the fields that clients of version 0.3 read: a URL, and security schemes in the older form. */
export function withLegacyFields(card: AgentCard): object {
  const { url } = card.supportedInterfaces.find(({ protocolVersion }) => protocolVersion === '0.3') ?? {};
  if (url === undefined) return card;
  const schemes = Object.entries(card.securitySchemes ?? {}).map(([name, scheme]) => [name, legacyScheme(scheme)]);
  return {
    ...card,
    url,
    preferredTransport: 'JSONRPC',
    protocolVersion: '0.3.0',
    ...(card.capabilities.extendedAgentCard ? { supportsAuthenticatedExtendedCard: true } : {}),
    ...(card.securitySchemes ? { securitySchemes: Object.fromEntries(schemes) } : {}),
    ...(card.securityRequirements ? { security: card.securityRequirements.map(legacyRequirement) } : {}),
  };
}

const legacyTypes: Record<string, string> = {
  httpAuthSecurityScheme: 'http',
  apiKeySecurityScheme: 'apiKey',
  oauth2SecurityScheme: 'oauth2',
  openIdConnectSecurityScheme: 'openIdConnect',
  mtlsSecurityScheme: 'mutualTLS',
};

function legacyScheme(scheme: Record<string, unknown>): object {
  const [kind = '', value] = Object.entries(scheme)[0] ?? [];
  if (typeof value !== 'object' || value === null) return scheme;
  const { location, ...rest } = value as Record<string, unknown>;
  return { ...scheme, type: legacyTypes[kind], ...rest, ...(location === undefined ? {} : { in: location }) };
}

function legacyRequirement({ schemes }: { schemes: Record<string, { list?: string[] }> }): object {
  return Object.fromEntries(Object.entries(schemes).map(([name, { list = [] }]) => [name, list]));
}
