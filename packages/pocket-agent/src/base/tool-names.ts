// Names of tools that every provider takes, and a limit for what is remembered of tools that are no longer listed.
import { sha256 } from '@pocket-agent/kit';

const MAX_LENGTH = 64;
/** Gemini wants a letter or an underscore first. */
const validName = /^[a-zA-Z_][a-zA-Z0-9_-]*$/;

/** The name, changed where a provider would refuse it. */
export function validToolName(name: string): string {
  if (name.length <= MAX_LENGTH && validName.test(name)) return name;
  const valid = name.replace(/[^a-zA-Z0-9_-]/g, '_').replace(/^(?=[0-9-])/, '_') || 'tool';
  return valid.length > MAX_LENGTH ? shortToolName(valid, sha256(name).slice(0, 8)) : valid;
}

/** The name, shortened to leave room for the suffix. */
export function shortToolName(name: string, suffix: string): string {
  return `${name.slice(0, MAX_LENGTH - 1 - suffix.length)}_${suffix}`;
}

/** The tool with which models find tools that are not in the prompt. */
export const FIND_TOOLS = 'find_tools';
/** The tool with which models run code that calls tools. */
export const RUN_CODE = 'run_code';
/** The tool with which models read the instructions of a skill. */
export const LOAD_SKILL = 'load_skill';
/** How the description of the tool for typed answers begins; its name may be another one. */
export const FINAL_ANSWER =
  'Gives the final answer and ends the task. Call it once, when everything else is done, with the whole answer as arguments; do not write the answer as text.';

/** More than any reconnecting server needs. */
export const MAX_ABSENT_NAMES = 10_000;

interface Listed {
  readonly size: number;
  has(name: string): boolean;
}

/**
 * Drops the newest names that are not listed, beyond the limit: a server that keeps inventing names cannot push out
 * older names of other servers. Every listed name must be known.
 */
export function dropAbsent(known: Map<string, unknown>, listed: Listed): void {
  const excess = known.size - listed.size - MAX_ABSENT_NAMES;
  if (excess <= 0) return;
  const absent = [...known.keys()].filter((name) => !listed.has(name));
  for (const name of absent.slice(-excess)) known.delete(name);
}
