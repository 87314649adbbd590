// The error message for invalid arguments of a tool call.

import { isRecord } from '@pocket-agent/kit';
import type { z } from 'zod';
import type { JsonSchema } from './schemas.ts';

type Issue = z.core.$ZodIssue;

interface Call {
  /** Name of the tool. */
  name: string;
  /** The input schema that clients see. */
  listed: JsonSchema;
  value: unknown;
}

export function argumentsText(issues: readonly Issue[], { name, listed, value }: Call): string {
  const problems = issues.flatMap((issue) => describeIssue(issue, value));
  const isNameWrong = issues.some((issue) => issue.code === 'unrecognized_keys' || isMissing(issue, value));
  return [...problems, ...(isNameWrong ? [acceptedArguments(name, listed)] : [])].join('; ');
}

function describeIssue(issue: Issue, value: unknown): string[] {
  const path = issue.path.join('.');
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => `unknown argument "${path === '' ? key : `${path}.${key}`}"`);
  }
  if (isMissing(issue, value)) return [`${path} is missing`];
  const message = issue.message.replace(/^Invalid input: /, '');
  return [path === '' ? message : `${path}: ${message}`];
}

function isMissing({ path }: Issue, value: unknown): boolean {
  if (path.length === 0) return false;
  let current = value;
  for (const key of path) current = isRecord(current) || Array.isArray(current) ? Reflect.get(current, key) : undefined;
  return current === undefined;
}

function acceptedArguments(name: string, { properties, required }: JsonSchema): string {
  const names = isRecord(properties) ? Object.keys(properties) : [];
  const mandatory = Array.isArray(required) ? required : [];
  const labels = names.map((one) => (mandatory.includes(one) ? one : `${one} (optional)`));
  return labels.length === 0 ? `${name} takes no arguments` : `${name} takes: ${labels.join(', ')}`;
}
