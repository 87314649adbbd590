// Finds where two JSON values differ, and shows it with the path and both values.
import { isRecord, truncate } from '@pocket-agent/kit';
import { matchesPieces } from '../access/name-patterns.ts';
import { REDACTED } from '../base/redact.ts';

export interface Difference {
  /** As in code: `prompt[2].content[0].text`. */
  path: string;
  recorded: unknown;
  actual: unknown;
}

const MAX_SHOWN = 5;
const MAX_VALUE_LENGTH = 160;
/** How much of a long string is shown before the first character that differs. */
const LENGTH_BEFORE = 40;

export function findDifferences(recorded: unknown, actual: unknown, path = ''): Difference[] {
  if (recorded === actual || isRedacted(recorded, actual)) return [];
  if (Array.isArray(recorded) && Array.isArray(actual)) {
    const length = Math.max(recorded.length, actual.length);
    return Array.from({ length }, (_, index) =>
      findDifferences(recorded[index], actual[index], `${path}[${index}]`),
    ).flat();
  }
  if (isRecord(recorded) && isRecord(actual)) {
    const keys = new Set([...Object.keys(recorded), ...Object.keys(actual)]);
    return [...keys].flatMap((key) => findDifferences(recorded[key], actual[key], joined(path, key)));
  }
  return [{ path, recorded, actual }];
}

/** Whether only secrets differ: their values are unknown in a replay. */
function isRedacted(recorded: unknown, actual: unknown): boolean {
  if (typeof recorded !== 'string' || actual === undefined) return false;
  if (recorded === REDACTED) return true;
  return typeof actual === 'string' && matchesPieces(recorded.split(REDACTED), actual);
}

/** The first differences, three lines each. */
export function differencesText(differences: readonly Difference[]): string {
  const shown = differences.slice(0, MAX_SHOWN).map(({ path, recorded, actual }) => {
    const start = firstDifference(recorded, actual);
    return `  ${path}\n    recorded: ${shownValue(recorded, start)}\n    now:      ${shownValue(actual, start)}`;
  });
  const more = differences.length - shown.length;
  return [...shown, ...(more > 0 ? [`  and ${more} more`] : [])].join('\n');
}

function joined(path: string, key: string): string {
  if (!/^[\w$]+$/.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === '' ? key : `${path}.${key}`;
}

/** The index of the first character that differs; 0 if one of the values is not a string. */
function firstDifference(one: unknown, other: unknown): number {
  if (typeof one !== 'string' || typeof other !== 'string') return 0;
  let index = 0;
  while (index < one.length && one[index] === other[index]) index++;
  return index;
}

function shownValue(value: unknown, start: number): string {
  if (value === undefined) return '(nothing)';
  if (typeof value !== 'string') return truncate(JSON.stringify(value), MAX_VALUE_LENGTH);
  const from = start > LENGTH_BEFORE ? start - LENGTH_BEFORE : 0;
  const part = value.slice(from, from + MAX_VALUE_LENGTH);
  return `${from > 0 ? '…' : ''}${JSON.stringify(part)}${from + part.length < value.length ? '…' : ''}`;
}
