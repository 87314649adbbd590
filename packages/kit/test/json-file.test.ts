// Errors of broken JSON: our words, with the line and the column, in every runtime.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jsonFault, parseJsonFile, readJsonFile } from '@pocket-agent/kit';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';

describe('the place and the reason', () => {
  test.each([
    ['{\n  "a": 1\n  "b": 2\n}', 3, 3, 'found a string; expected "," or "}"'],
    ["{ 'a': 1 }", 1, 3, 'found \'a\'; expected a name in double quotes or "}"'],
    ['{ "a" 1 }', 1, 7, 'found 1; expected ":"'],
    ['{ "a": }', 1, 8, 'found }; expected a value'],
    ['{ "a": tru }', 1, 8, 'found tru; expected a value'],
    ['{ "a": 01 }', 1, 8, 'found 01; expected a value'],
    ['{ "a": [1 2] }', 1, 11, 'found 2; expected "," or "]"'],
    ['[1, ]', 1, 5, 'found ]; expected a value'],
    ['[1, 2', 1, 6, 'found the end of the text; expected "," or "]"'],
    ['{ "a": "b\n}', 1, 8, 'found a string without its end; expected a value'],
    ['{ "a": "\\x" }', 1, 8, 'found a string with a character that must be escaped; expected a value'],
    ['{ "a": 1 } }', 1, 12, 'found }; expected nothing more'],
    ['{}\n\nnpm start', 3, 1, 'found npm; expected nothing more'],
    ['', 1, 1, 'found the end of the text; expected a value'],
    ['[\u200b]', 1, 2, 'found �; expected a value or "]"'],
  ])('%j', (text, line, column, problem) => {
    expect(jsonFault(text)).toEqual({ line, column, problem });
  });

  test('a long word and a string, which may be a secret, are not shown', () => {
    for (const password of ['Tr0ub4dor&3-horse', "'Tr0ub4dor&3-horse'"])
      expect(jsonFault(`{ "key": ${password} }`)?.problem).toBe('found a word without double quotes; expected a value');
    expect(jsonFault('{ "key": "sk-secret-1234" "b" }')?.problem).not.toContain('b');
    expect(jsonFault('["sk-secret-1234')?.problem).not.toContain('secret');
  });

  test('what JSON.parse accepts has no fault, and the rest has one', () => {
    const pieces = fc.constantFrom(
      ...'{}[]:,"\\ \n'.split(''),
      '"a"',
      '1',
      '-',
      'e5',
      'true',
      'nul',
      '\\u00e9',
      '\t',
      '//',
    );
    const broken = fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join(''));
    const edited = fc.tuple(fc.json(), fc.nat(), fc.nat(1), fc.option(pieces, { nil: '' }));
    const texts = fc.oneof(
      broken,
      edited.map(([json, place, removed, added]) => {
        const at = place % (json.length + 1);
        return json.slice(0, at) + added + json.slice(at + removed);
      }),
    );
    fc.assert(
      fc.property(texts, (text) => {
        let isJson = true;
        try {
          JSON.parse(text);
        } catch {
          isJson = false;
        }
        expect(jsonFault(text) === undefined).toBe(isJson);
      }),
      { numRuns: 2_000 },
    );
  });

  test('deep nesting and long broken text cost little', () => {
    expect(jsonFault('['.repeat(200_000))?.problem).toContain('the end of the text');
    for (const part of ['\\"', 'xxxxxxxxxx'])
      expect(jsonFault(`["${part.repeat(2_000_000)}`)?.problem).toContain('a string without its end');
  });
});

describe('files', () => {
  test('comments, trailing commas and a byte order mark are allowed', () => {
    const text = '\uFEFF{ // first\n "a": [1, 2,], /* ] */ "b": "// no", }';
    expect(parseJsonFile('x.json', text)).toEqual({ a: [1, 2], b: '// no' });
  });

  test('an error names the file, line and column, also after comments', () => {
    expect(() => parseJsonFile('x.json', '{\n  // one\n  "a": [1,],\n  b: 2\n}')).toThrow(
      'x.json:4:3: invalid JSON: found b; expected a name in double quotes',
    );
  });

  test('a missing file is named with advice', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'json-file-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, 'a.json');
    await expect(readJsonFile(file, 'write one')).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: `There is no file ${file}: write one.`,
    });
    await writeFile(file, '{ "a": 1, }');
    expect(await readJsonFile(file, 'write one')).toEqual({ a: 1 });
    await expect(readJsonFile(folder, 'write one')).rejects.toThrow(`Cannot read ${folder}: `);
  });
});
