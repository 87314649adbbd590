// What is wrong with the arguments of a call, in words that help to make the next one right.
import type { z } from 'zod';
import { isObject } from '../../base/json.ts';
import type { JsonSchema } from './schemas.ts';

type Issue = z.core.$ZodIssue;

interface Call {
  /** Of the tool. */
  name: string;
  listed: JsonSchema;
  value: unknown;
}

export function argumentsText(issues: readonly Issue[], { name, listed, value }: Call): string {
  const faults = issues.flatMap((issue) => faultsOf(issue, value));
  const isAboutNames = issues.some((issue) => issue.code === 'unrecognized_keys' || isMissing(issue, value));
  return [...faults, ...(isAboutNames ? [whatItTakes(name, listed)] : [])].join('; ');
}

function faultsOf(issue: Issue, value: unknown): string[] {
  const path = issue.path.join('.');
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => `there is no "${path === '' ? key : `${path}.${key}`}"`);
  }
  if (isMissing(issue, value)) return [`${path} is missing`];
  const message = issue.message.replace(/^Invalid input: /, '');
  return [path === '' ? message : `${path}: ${message}`];
}

function isMissing({ path }: Issue, value: unknown): boolean {
  if (path.length === 0) return false;
  let found = value;
  for (const key of path) found = isObject(found) || Array.isArray(found) ? Reflect.get(found, key) : undefined;
  return found === undefined;
}

function whatItTakes(name: string, { properties, required }: JsonSchema): string {
  const names = isObject(properties) ? Object.keys(properties) : [];
  const needed = Array.isArray(required) ? required : [];
  const shown = names.map((one) => (needed.includes(one) ? one : `${one} (optional)`));
  return shown.length === 0 ? `${name} takes no arguments` : `${name} takes: ${shown.join(', ')}`;
}
