// Validates agent cards against the A2A specification and extracts what the registry shows and searches.
import { z } from 'zod';
import { Agent3Error } from '../base/agent3-error.ts';
import type { AgentDetails, CardJson } from '../base/agents.ts';
import { cleanExcerpt } from '../base/clean-text.ts';
import { fromV03, isV03 } from './card-v03.ts';
import { serverOf, transportsOf } from './mcp-server.ts';

const MAX_PROBLEMS = 5;
const NAME_LENGTH = 200;
const TEXT_LENGTH = 4_000;
const MAX_SKILLS = 500;

const webUrl = z.string().refine((text) => /^https?:$/.test(URL.parse(text)?.protocol ?? ''), {
  error: 'must be an absolute http or https URL',
});
const strings = z.array(z.string());
// lists that the specification requires may be missing, because ProtoJSON omits empty lists
const skill = z.looseObject({
  id: z.string().min(1),
  name: z.string().min(1),
  description: z.string(),
  tags: strings.optional(),
  examples: strings.nullish(),
});
const oneScheme = z.looseObject({}).refine((scheme) => Object.keys(scheme).length === 1, {
  error: 'must hold exactly one kind of scheme',
});
const common = {
  name: z.string().min(1),
  description: z.string(),
  version: z.string().min(1),
  capabilities: z.looseObject({}),
  defaultInputModes: strings.default([]),
  defaultOutputModes: strings.default([]),
  skills: z.array(skill).max(MAX_SKILLS).default([]),
  provider: z.looseObject({ organization: z.string(), url: z.string() }).nullish(),
};
const v1 = z.looseObject({
  ...common,
  supportedInterfaces: z
    .array(
      z.looseObject({
        // gRPC interfaces are `host:port`; those of MCP servers may be packages
        url: webUrl.or(z.string().regex(/^([^\s/]+:\d+|pkg:[a-z0-9-]+\/\S+)$/)),
        protocolBinding: z.string().min(1),
        protocolVersion: z.string().regex(/^\d+\.\d+/, { error: 'must be like 1.0' }),
        tenant: z.string().optional(),
      }),
    )
    .min(1),
  securitySchemes: z.record(z.string(), oneScheme).optional(),
  securityRequirements: z
    .array(z.looseObject({ schemes: z.record(z.string(), z.looseObject({ list: strings.optional() })).optional() }))
    .optional(),
});
const v03 = z.looseObject({
  ...common,
  url: webUrl,
  protocolVersion: z
    .string()
    .regex(/^0\.\d+/, { error: 'must be like 0.3.0' })
    .optional(),
  preferredTransport: z.string().min(1).optional(),
  additionalInterfaces: z.array(z.looseObject({ url: webUrl, transport: z.string().min(1) })).nullish(),
  securitySchemes: z
    .record(z.string(), z.looseObject({ type: z.enum(['apiKey', 'http', 'oauth2', 'openIdConnect', 'mutualTLS']) }))
    .nullish(),
  security: z.array(z.record(z.string(), strings)).nullish(),
});

/** A card in the shape of A2A 1.0; cards of 0.3 are converted. */
export type Card = z.infer<typeof v1>;

/** Throws `CARD_INVALID` with the problem of each field. */
export function readCard(json: CardJson): Card {
  if (!isV03(json)) return validate(v1, json, '1.0');
  validate(v03, json, '0.3');
  return validate(v1, fromV03(json), '0.3');
}

function validate<Shape>(schema: z.ZodType<Shape>, json: CardJson, version: string): Shape {
  const { success, data, error } = schema.safeParse(json);
  if (success) return data;
  const problems = error.issues.map(({ path, message }) => `${pathText(path)}: ${message}`);
  const more = problems.length > MAX_PROBLEMS ? ` (and ${problems.length - MAX_PROBLEMS} more)` : '';
  throw new Agent3Error(
    'CARD_INVALID',
    `The card does not follow A2A ${version}: ${problems.slice(0, MAX_PROBLEMS).join('; ')}${more}`,
  );
}

function pathText(path: readonly PropertyKey[]): string {
  const text = path.reduce<string>((all, part) => {
    if (typeof part === 'number') return `${all}[${part}]`;
    return all === '' ? String(part) : `${all}.${String(part)}`;
  }, '');
  return text === '' ? 'the card' : cleanExcerpt(text, 100);
}

export function protocolsOf(card: Card): string[] {
  if (serverOf(card)) return ['mcp', ...transportsOf(card)];
  const all = card.supportedInterfaces.flatMap(({ protocolBinding, protocolVersion }) => [
    `a2a/${/^\d+\.\d+/.exec(protocolVersion)?.[0] ?? ''}`,
    cleanExcerpt(protocolBinding, 100),
  ]);
  return [...new Set(all)];
}

export function tagsOf(card: Card, added: readonly string[] = []): string[] {
  const all = [...added, ...card.skills.flatMap(({ tags }) => tags ?? [])];
  return [...new Set(all.map((tag) => cleanExcerpt(tag, 50).toLowerCase()).filter((tag) => tag !== ''))].slice(0, 100);
}

/** The hosts of the agent's interfaces. */
export function hostsOf(card: Card): string[] {
  return [...new Set(card.supportedInterfaces.map(({ url }) => URL.parse(url)?.host || url))].sort();
}

/** The origin of a card that was registered without a URL: that of its interfaces, if they share one. */
export function soleOrigin(card: Card): string | undefined {
  const origins = new Set(card.supportedInterfaces.map(({ url }) => URL.parse(url)?.origin));
  const [origin] = origins;
  return origins.size === 1 && origin !== 'null' ? origin : undefined;
}

/** Extension by which a card names the owners who may register it: `{ uri, params: { owners: ['alice'] } }`. */
export const OWNER_EXTENSION = 'urn:pocket-agent:agent3:owner:1';

const ownerExtension = z.looseObject({
  uri: z.literal(OWNER_EXTENSION),
  params: z.looseObject({ owners: strings.min(1) }),
});

/** Undefined if the card names no owners. */
export function ownersOf({ capabilities }: Card): string[] | undefined {
  const extensions = Array.isArray(capabilities.extensions) ? capabilities.extensions : [];
  return extensions.map((extension) => ownerExtension.safeParse(extension).data?.params.owners).find(Boolean);
}

type CardView = Pick<AgentDetails, 'provider' | 'skills' | 'inputModes' | 'outputModes'>;

export function cardView(card: Card): CardView {
  const { provider, defaultInputModes, defaultOutputModes } = card;
  const line = (text: string) => cleanExcerpt(text, NAME_LENGTH);
  return {
    ...(provider ? { provider: { organization: line(provider.organization), url: line(provider.url) } } : {}),
    skills: card.skills.map(({ id, name, description, tags, examples }) => ({
      id: line(id),
      name: line(name),
      description: cleanExcerpt(description, TEXT_LENGTH),
      tags: (tags ?? []).map(line),
      examples: (examples ?? []).map((example) => cleanExcerpt(example, TEXT_LENGTH)),
    })),
    inputModes: defaultInputModes.map(line),
    outputModes: defaultOutputModes.map(line),
  };
}

export function titleOf(card: Card): { name: string; description: string; version: string } {
  const name = cleanExcerpt(card.name.replace(/\s+/g, ' '), NAME_LENGTH);
  if (name === '')
    throw new Agent3Error('CARD_INVALID', 'The card does not follow A2A: its name has no visible characters');
  return { name, description: cleanExcerpt(card.description, TEXT_LENGTH), version: cleanExcerpt(card.version, 50) };
}
