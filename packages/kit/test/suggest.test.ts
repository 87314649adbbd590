// Which word was meant by one that does not exist.
import { closest, describeAvailable } from '@pocket-agent/kit';
import { expect, test } from 'vitest';

test.each([
  ['prot', 'port'],
  ['mian', 'main'],
  ['dmeo', 'demo'],
  ['rmp', 'rpm'],
  ['strategy', 'stratgey'],
  ['demo', 'demo'],
  ['deo', 'demo'],
  ['demmo', 'demo'],
  ['dexo', 'demo'],
])('"%s" is "%s" with one change', (word, known) => {
  expect(closest(word, ['something-else', known])).toBe(known);
});

test.each([
  ['mina', 'amin'],
  ['opmo', 'demo'],
  ['edom', 'demo'],
  ['pmr', 'rpm'],
])('"%s" is not "%s": two changes of few letters are too many', (word, known) => {
  expect(closest(word, [known])).toBeUndefined();
});

test('a name at the end of a long list is found', () => {
  const names = [...Array.from({ length: 20_000 }, (_, index) => `tool_${index}`), 'Read-Letters'];
  expect(closest('read_leters', names)).toBe('Read-Letters');
  expect(describeAvailable('read_leters', names)).toMatch(/^The closest of 20001: Read-Letters, /);
});
