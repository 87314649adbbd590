// Names of tools that every provider takes.
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
