// writeNewTool: the new folder works, and nothing is overwritten. Tests of the CLI run the test in the folder.
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadToolFolder, writeNewTool } from '@pocket-agent/tool-folder';
import { expect, test } from 'vitest';
import { writeFiles, writeInto } from './files.ts';

test('the new folder works', async () => {
  // as npm init leaves it
  const root = writeFiles({ 'package.json': '{ "type": "commonjs" }' });
  const { path, tool, files } = await writeNewTool(root, 'WordGame');
  expect(tool).toBe('word_game');
  expect(files.map((file) => file.slice(path.length + 1))).toEqual([
    'manifest.yaml',
    'tool.ts',
    'tool.test.ts',
    'package.json',
  ]);
  const folder = loadToolFolder(root, { strict: true });
  expect(await folder.load()).toMatchObject([{ name: 'WordGame', humanName: 'WordGame', problems: [] }]);
  await folder.close();
});

test('an existing folder is left unchanged', async () => {
  const root = writeFiles({ 'Mine/tool.ts': 'mine' });
  await expect(writeNewTool(root, 'Mine')).rejects.toThrow('it already exists; choose another name');
  expect(readFileSync(join(root, 'Mine/tool.ts'), 'utf8')).toBe('mine');
  expect(readdirSync(join(root, 'Mine'))).toEqual(['tool.ts']);
  mkdirSync(join(root, 'Empty'));
  await expect(writeNewTool(root, 'Empty')).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  writeInto(root, 'file', '');
  await expect(writeNewTool(root, 'file')).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
});

test.each([
  '',
  '.',
  '..',
  '../up',
  'a/b',
  'a\\b',
  '.hidden',
  '__x',
  '1st',
  'with space',
  'node_modules',
  'x'.repeat(51),
])('%j is refused as a name', async (name) => {
  const root = writeFiles({});
  await expect(writeNewTool(root, name)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  expect(readdirSync(root)).toEqual([]);
});
