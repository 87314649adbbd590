// Callers of a gateway: who they are and what they may do.
import {
  configError,
  didYouMean,
  isRecord,
  nullableBoolean,
  OptionSet,
  oneOf,
  positiveInteger,
  positiveNumber,
  stringList,
  stringRule,
} from '@pocket-agent/kit';
import { type Profile, type ProfileName, profiles } from 'pocket-agent';
import { matchesName, readProfile } from 'pocket-agent/internal';

/** What is known about a caller, apart from the token. */
export interface CallerSettings {
  /** reader, writer, manager, admin, or a profile of the gateway. */
  profile: string;
  /** Names of servers that the caller may use; `*` matches any characters. Default: all. */
  servers?: readonly string[] | undefined;
  /**
   * search: clients see `find_tools` and `call_tool` in place of all tools. code: they see `run_code` and `find_tools`; the
   * gateway needs `codeMode`. Default direct.
   */
  expose?: 'direct' | 'search' | 'code' | undefined;
  /** Most tool calls, and reads of resources and prompts, in one minute. */
  callsPerMinute?: number | undefined;
  /** Most tool calls, and reads of resources and prompts, in one day (UTC). */
  callsPerDay?: number | undefined;
  /** Most US dollars that the caller's calls may cost on one day (UTC), by `prices` of the gateway. */
  usdPerDay?: number | undefined;
  /** True: a person who answers the questions about calls of other callers, at `/approvals`. Default false. */
  approves?: boolean | undefined;
}

const settingsOptions = new OptionSet<CallerSettings>('A caller', {
  profile: stringRule,
  servers: stringList,
  expose: oneOf('direct', 'search', 'code'),
  callsPerMinute: positiveInteger,
  callsPerDay: positiveInteger,
  usdPerDay: positiveNumber,
  approves: nullableBoolean,
});

/** A caller whose token was accepted. */
export interface Caller {
  readonly name: string;
  readonly settings: CallerSettings;
  readonly profile: Profile;
  /** When its token was made: a later caller of this name is another one. */
  readonly createdAt?: number;
}

/** The caller on stdin and stdout. */
export const LOCAL = 'local';

/** Only these characters, so that a variable of the environment can belong to one caller. */
const validName = /^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/;

export function checkCallerName(name: string): void {
  if (name === LOCAL) throw configError(`"${LOCAL}" is the caller on stdin and stdout: give this one another name.`);
  if (validName.test(name)) return;
  throw configError(`The name of a caller has 1 to 64 lower-case letters, digits and hyphens, not "${name}".`);
}

/** Whether the caller has a token of the gateway; others are known by an external issuer. */
export function hasTokenOfGateway(name: string): boolean {
  return validName.test(name);
}

export function checkSettings(settings: unknown): asserts settings is CallerSettings {
  if (!isRecord(settings)) throw configError('A caller needs settings such as { profile: "reader" }.');
  settingsOptions.check(settings);
  if (settings.profile === undefined) throw configError('A caller needs a profile, such as reader.');
}

/** Whether there is such a profile in every gateway. */
export function isBuiltInProfile(name: string): name is ProfileName {
  return Object.hasOwn(profiles, name);
}

/** The profile with this name: one of the gateway, or one that is always there. */
export function profileNamed(name: string, own: Readonly<Record<string, Profile>>): Profile {
  if (Object.hasOwn(own, name)) return readProfile(own[name] as Profile);
  if (isBuiltInProfile(name)) return readProfile(name);
  const names = [...Object.keys(profiles), ...Object.keys(own)];
  throw configError(`There is no profile "${name}".${didYouMean(name, names)} Available: ${names.join(', ')}.`);
}

export function mayUse({ settings: { servers } }: Caller, server: string): boolean {
  return servers === undefined || servers.some((pattern) => matchesName(pattern, server));
}
