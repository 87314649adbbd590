// References inside a schema.
import { expect, test } from 'vitest';
import { resolveReference, type Schema } from '../src/index.ts';

const target = { type: 'string' };
const nested = (depth: number): Schema => (depth === 0 ? target : { a: nested(depth - 1) });

test.each<[string, Schema]>([
  ['#', { $defs: {} }],
  ['#/$defs/name', { $defs: { name: target } }],
  ['#/$defs/a~1b~0c', { $defs: { 'a/b~c': target } }],
  ['#/$defs/a%20b%2Fc', { $defs: { 'a b': { c: target } } }],
  ['#/oneOf/1', { oneOf: [{}, target] }],
  ['#/', { '': target }],
])('%s leads to a schema', (reference, root) => {
  expect(resolveReference({ $ref: reference }, root)).toBe(reference === '#' ? root : target);
});

test.each(['#/$defs/gone/name', '#/$defs/toString', '#name', 'other.json#/$defs/name', ''])(
  '%s leads nowhere',
  (ref) => {
    expect(resolveReference({ $ref: ref }, { $defs: { name: target } })).toBeUndefined();
  },
);

test('a reference of more than 1,000 characters is not followed', () => {
  const to = (depth: number) => resolveReference({ $ref: `#${'/a'.repeat(depth)}` }, nested(depth));
  expect([to(499), to(500)]).toEqual([target, undefined]);
});
