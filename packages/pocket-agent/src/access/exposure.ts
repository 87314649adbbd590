// How tools are shown to the model: the option `exposure` of agents, servers, tool folders and profiles.
import { isRecord, type OptionRule } from '@pocket-agent/kit';
import { matchesName } from './name-patterns.ts';

export const exposures = ['auto', 'direct', 'deferred', 'code', 'hidden'] as const;
/**
 * direct: its definition is in every prompt. deferred: the model finds it with `find_tools`. code: only code that the model
 * writes can call it. hidden: the model cannot call it. auto: direct as long as all definitions are short, else deferred.
 */
export type Exposure = (typeof exposures)[number];

/** For all tools, or by name: `*` matches any characters, and the first pattern that matches a name decides. */
export type ExposureOption = Exposure | Readonly<Record<string, Exposure>>;

const isExposure = (value: unknown) => exposures.some((each) => each === value);

export const exposureRule: OptionRule = {
  expected: `one of ${exposures.join(', ')}, or an object of these by name of tool: { "github_*": "deferred" }`,
  accepts: (value) =>
    value === null || isExposure(value) || (isRecord(value) && Object.values(value).every(isExposure)),
};

/** The exposure that the option gives to a tool with these names. */
export function exposureIn(
  option: ExposureOption | null | undefined,
  names: readonly (string | undefined)[],
): Exposure | undefined {
  if (typeof option === 'string') return option;
  const isNamed = ([pattern]: [string, Exposure]) =>
    names.some((name) => name !== undefined && matchesName(pattern, name));
  return Object.entries(option ?? {}).find(isNamed)?.[1];
}
