// Schemas of the program itself.
import { compileSchema } from '@pocket-agent/schema';
import { expect, test } from 'vitest';

test('a schema may have a function among its annotations', async () => {
  const schema = { type: 'object', properties: { a: { type: 'string' } }, 'x-label': () => 'a label' };
  const compiled = await compileSchema(schema);
  if (!('check' in compiled)) throw new Error(compiled.fault.message);
  expect(compiled.check({ a: 1 })).toEqual({ problem: 'a must be string' });
  expect(compiled.check({ a: 'x' })).toEqual({ value: { a: 'x' } });
});
