// Capabilities of tools, and profiles: sets of capabilities that a caller may use.
import type { Tool } from '@modelcontextprotocol/client';
import { checkValue, closest, configError, isRecord, OptionSet, stringList } from '@pocket-agent/kit';
import { type ExposureOption, exposureRule } from './exposure.ts';
import { matchesName } from './name-patterns.ts';

export const capabilities = ['read', 'write', 'create', 'delete'] as const;
/** The most harmful thing that a tool can do; profiles allow tools by it. */
export type Capability = (typeof capabilities)[number];

/** Each profile includes the ones above it. A name stands for its capabilities and is not kept. */
export const profiles = {
  reader: ['read'],
  writer: ['read', 'write'],
  manager: ['read', 'write', 'create'],
  admin: ['read', 'write', 'create', 'delete'],
} as const satisfies Record<string, readonly Capability[]>;

/** The name of an included profile, in place of rules of your own. */
export type ProfileName = keyof typeof profiles;

/** A custom profile. Patterns are tool names in which `*` matches any characters; `deny` takes precedence. */
export interface Profile {
  capabilities: readonly Capability[];
  /** Names that are allowed regardless of capability. */
  allow?: readonly string[];
  deny?: readonly string[];
  /** How tools are shown to the model in runs with this profile. Takes precedence over other options. */
  exposure?: ExposureOption;
}

/** The capability of a tool, and where it comes from. */
export interface Judgement {
  capability: Capability;
  from: 'config' | 'meta' | 'annotations' | 'nothing' | 'distrust' | 'sub-agent';
  /** The server's name for the tool, if it differs from the name here. */
  ownName?: string;
  /** The tool is a remote agent that asks our approver about its own calls: `approvals: true`. */
  asksItself?: true;
}

/** A tool with its capability, as access rules judge it. */
export interface JudgedTool extends Judgement {
  name: string;
  tool: Tool;
}

/** A tool that a rule hides from the model. */
export interface HiddenTool extends JudgedTool {
  /** The rule: the profile of the agent, or its filter. */
  reason: string;
}

/** The part of a server's configuration that is about its tools. */
export interface ServerTrust {
  /** False: ignore the server's own claims about its tools. Default true. */
  trust?: boolean;
  /** Capabilities by the names of tools. */
  capabilities?: Readonly<Record<string, Capability>>;
}

/** A tool whose capability is not known counts as `delete`. */
export function judge(tool: Pick<Tool, 'name' | 'annotations' | '_meta'>, known: ServerTrust = {}): Judgement {
  const given =
    known.capabilities && Object.hasOwn(known.capabilities, tool.name) ? known.capabilities[tool.name] : undefined;
  if (given) return { capability: given, from: 'config' };
  if (known.trust === false) return { capability: 'delete', from: 'distrust' };
  const claimed = tool._meta?.capability;
  if (isCapability(claimed)) return { capability: claimed, from: 'meta' };
  // a misspelt capability may have been meant to be stricter than the annotations
  if (typeof claimed === 'string') return { capability: 'delete', from: 'nothing' };
  if (!tool.annotations) return { capability: 'delete', from: 'nothing' };
  const { readOnlyHint, destructiveHint } = tool.annotations;
  if (readOnlyHint === true) return { capability: 'read', from: 'annotations' };
  // in MCP a tool is destructive unless its annotations say otherwise
  return { capability: destructiveHint === false ? 'write' : 'delete', from: 'annotations' };
}

/** The capability of a tool, by its annotations and `_meta`. */
export function capabilityOf(tool: Pick<Tool, 'name' | 'annotations' | '_meta'>): Capability {
  return judge(tool).capability;
}

/** Whether a call with an unknown outcome may be repeated. Requests other than tool calls only read. */
export function isRepeatable(tool: Pick<Tool, 'annotations'> | undefined): boolean {
  return !tool || tool.annotations?.readOnlyHint === true || tool.annotations?.idempotentHint === true;
}

/** The tools that a profile may see, for programs with their own loop. */
export function toolsFor<Item extends Pick<Tool, 'name' | 'annotations' | '_meta'>>(
  profile: ProfileName | Profile,
  tools: readonly Item[],
): Item[] {
  const checked = readProfile(profile);
  return tools.filter((tool) => refusalBy(checked, { name: tool.name, capability: capabilityOf(tool) }) === undefined);
}

export const profileOptions = new OptionSet<Profile>('profile', {
  capabilities: stringList,
  allow: stringList,
  deny: stringList,
  exposure: exposureRule,
});

export function readProfile(profile: ProfileName | Profile): Profile {
  if (typeof profile === 'string') {
    if (Object.hasOwn(profiles, profile)) return { capabilities: profiles[profile] };
    throw configError(`There is no profile "${profile.slice(0, 80)}". Available: ${Object.keys(profiles).join(', ')}.`);
  }
  const names = Object.keys(profiles).join(', ');
  checkValue('A profile', profile, {
    expected: `one of ${names}, or { capabilities, allow, deny }`,
    accepts: isRecord,
  });
  profileOptions.check(profile);
  const wrong = profile.capabilities?.find((capability) => !isCapability(capability));
  if (!Array.isArray(profile.capabilities) || wrong !== undefined) {
    throw configError(
      `A profile needs capabilities out of ${capabilities.join(', ')}${wrong === undefined ? '' : `, not "${wrong}"`}.`,
    );
  }
  return { ...profile };
}

/** Why a profile refuses a tool, or undefined when it does not. */
export function refusalBy(
  profile: Profile,
  { name, ownName = name, capability, from, tool }: Pick<JudgedTool, 'name' | 'capability'> & Partial<JudgedTool>,
): string | undefined {
  // a renamed tool is denied under its old name too
  const names = [name, ownName, tool?.name ?? name];
  const isDenied = profile.deny?.some((pattern) => names.some((known) => matchesName(pattern, known)));
  if (isDenied) return 'it is on the deny list';
  // an untrusted server may use a name that was meant for another server's tool
  if (from !== 'distrust' && profile.allow?.some((pattern) => matchesName(pattern, name))) return undefined;
  if (profile.capabilities.includes(capability)) return undefined;
  return `it can ${capability}, and only ${profile.capabilities.join(', ') || 'nothing'} is allowed`;
}

/** Throws for a word that is not a capability. */
export function checkCapability(what: string, value: unknown): asserts value is Capability {
  if (isCapability(value)) return;
  const given = typeof value === 'string' ? `"${value.slice(0, 100)}"` : `a value of type ${typeof value}`;
  throw configError(`${what} is ${given}; it must be ${expectedCapability(value)}.`);
}

/** `one of read, write, create, delete (did you mean "read"?)` */
export function expectedCapability(value: unknown): string {
  const meant = typeof value === 'string' ? closest(value, capabilities) : undefined;
  return `one of ${capabilities.join(', ')}${meant === undefined ? '' : ` (did you mean "${meant}"?)`}`;
}

export function isCapability(value: unknown): value is Capability {
  return capabilities.some((capability) => capability === value);
}
