// Watched folders: edits apply to the next call, running calls finish, and broken edits are reported.
import { renameSync, rmSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { loadToolFolder, skills, type ToolFolder } from '@pocket-agent/tool-folder';
import { PocketAgentClient } from 'pocket-agent';
import { expect, onTestFinished, test } from 'vitest';
import { silent } from '../../pocket-agent/test/helpers.ts';
import { manifestOf, recordLog, servedOnStdio, writeFiles, writeInto } from './files.ts';

const saying = (word: string) => `export class Tools { async say() { return "${word}"; } }`;

function watch(root: string, options = {}): ToolFolder {
  const folder = loadToolFolder(root, { logger: silent, watch: true, ...options });
  onTestFinished(() => folder.close());
  return folder;
}

/** Does something to the files and waits until the folder has noticed. */
async function after(folder: Pick<ToolFolder, 'onChange'>, edit: () => void): Promise<void> {
  const changed = Promise.withResolvers<void>();
  const stop = folder.onChange(changed.resolve);
  edit();
  await changed.promise;
  stop();
}

const say = async (folder: ToolFolder) => {
  const { content } = await folder.callTool('say', {});
  return content.map((block) => (block.type === 'text' ? block.text : block.type)).join();
};
const namesOf = async (folder: ToolFolder) => (await folder.listTools()).map(({ name }) => name);

test('the next call uses the edited code, and the revision changes', async () => {
  const root = writeFiles({ 'A/manifest.yaml': manifestOf('say'), 'A/tool.ts': saying('one') });
  const folder = watch(root);
  expect(await say(folder)).toBe('one');
  const { revision } = folder;
  await after(folder, () => writeInto(root, 'A/tool.ts', saying('two')));
  expect(await say(folder)).toBe('two');
  expect(folder.revision).toBeGreaterThan(revision);
  await after(folder, () => {
    writeInto(root, 'A/manifest.yaml', manifestOf('say', 'shout'));
    writeInto(root, 'A/tool.ts', 'export class Tools { async say() { return "a"; } async shout() { return "A"; } }');
  });
  expect(await namesOf(folder)).toEqual(['say', 'shout']);
});

test('a running call finishes with its old code, which is closed afterwards', async () => {
  const code = (word: string) => `export class Tools {
    constructor({ log }) { this.log = log; }
    async say() { return "${word}"; }
    async wait(_args, { progress, meta }) { progress({ progress: 0 }); await meta.until; return "${word}"; }
    async close() { this.log("info", "closed ${word}"); }
  }`;
  const root = writeFiles({ 'A/manifest.yaml': manifestOf('say', 'wait'), 'A/tool.ts': code('old') });
  const { logger, lines } = recordLog();
  const folder = watch(root, { logger });
  const until = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const waiting = folder.callTool('wait', {}, { meta: { until: until.promise }, progress: () => begun.resolve() });
  await begun.promise;
  await after(folder, () => writeInto(root, 'A/tool.ts', code('new')));
  expect(await say(folder)).toBe('new');
  expect(lines).toEqual([]);
  until.resolve();
  expect((await waiting).content).toEqual([{ type: 'text', text: 'old' }]);
  await expect.poll(() => lines).toEqual(['info: [A] closed old']);
});

test.each([
  ['manifest.yaml', 'tool_list: [', 'a YAML error'],
  ['tool.ts', 'export class Tools {', 'an error: '],
  [
    'tool.ts',
    'export class Tools { constructor() { throw new Error("no"); } async say() {} }',
    'the constructor of Tools',
  ],
])('an edit that breaks %s is reported, and the old code works until it is fixed', async (file, broken, found) => {
  const good = { 'A/manifest.yaml': manifestOf('say'), 'A/tool.ts': saying('one') };
  const root = writeFiles(good);
  const folder = watch(root);
  expect(await say(folder)).toBe('one');
  await after(folder, () => writeInto(root, `A/${file}`, broken));
  expect(folder.folders).toMatchObject([
    {
      name: 'A',
      tools: [{ name: 'say' }],
      problems: [{ file: join(root, 'A', file), found: expect.stringContaining(found) }],
    },
  ]);
  expect(await say(folder)).toBe('one');
  await folder.activate([]);
  await folder.activate('all');
  expect(folder.folders[0]?.problems).toHaveLength(1);
  await after(folder, () => {
    for (const [name, text] of Object.entries({ ...good, 'A/tool.ts': saying('two') })) writeInto(root, name, text);
  });
  expect(folder.folders).toMatchObject([{ name: 'A', problems: [] }]);
  expect(await say(folder)).toBe('two');
});

test('a folder that was broken from the start is offered after it is fixed', async () => {
  const root = writeFiles({ 'A/manifest.yaml': '', 'A/tool.ts': saying('one') });
  const folder = watch(root);
  expect(await namesOf(folder)).toEqual([]);
  await after(folder, () => writeInto(root, 'A/manifest.yaml', manifestOf('say')));
  expect(await say(folder)).toBe('one');
});

test('folders can be added and removed', async () => {
  const root = writeFiles({ 'A/manifest.yaml': manifestOf('say'), 'A/tool.ts': saying('one') });
  const folder = watch(root);
  expect(await namesOf(folder)).toEqual(['say']);
  const prepared = writeFiles({
    'B/manifest.yaml': manifestOf('b'),
    'B/tool.ts': 'export class Tools { async b() {} }',
  });
  await after(folder, () => renameSync(join(prepared, 'B'), join(root, 'B')));
  expect(await namesOf(folder)).toEqual(['say', 'b']);
  await after(folder, () => rmSync(join(root, 'A'), { recursive: true }));
  expect(await namesOf(folder)).toEqual(['b']);
  expect(folder.folders.map(({ name }) => name)).toEqual(['B']);
});

test('a replaced folder is watched like the first one', async () => {
  const root = writeFiles({ 'A/manifest.yaml': manifestOf('say'), 'A/tool.ts': saying('one') });
  const prepared = writeFiles({ 'A/manifest.yaml': manifestOf('say'), 'A/tool.ts': saying('two') });
  const folder = watch(root);
  expect(await say(folder)).toBe('one');
  await after(folder, () => {
    renameSync(join(root, 'A'), join(prepared, 'before'));
    renameSync(join(prepared, 'A'), join(root, 'A'));
  });
  expect(await say(folder)).toBe('two');
  await after(folder, () => writeInto(root, 'A/tool.ts', saying('three')));
  expect(await say(folder)).toBe('three');
});

test('the whole path can be removed and created again', async () => {
  const parent = writeFiles({ 'tools/A/manifest.yaml': manifestOf('say'), 'tools/A/tool.ts': saying('one') });
  const warned = Promise.withResolvers<void>();
  const logger = { ...silent, warn: () => warned.resolve() };
  const folder = watch(join(parent, 'tools'), { logger });
  expect(await say(folder)).toBe('one');
  renameSync(join(parent, 'tools'), join(parent, 'away'));
  await warned.promise;
  expect(await say(folder)).toBe('one');
  writeInto(parent, 'away/A/tool.ts', saying('two'));
  await after(folder, () => renameSync(join(parent, 'away'), join(parent, 'tools')));
  expect(await say(folder)).toBe('two');
});

test('data files and unchanged files do not cause a reload', async () => {
  const counting = 'export class Tools { #n = 0; async say() { return String(++this.#n); } }';
  const root = writeFiles({
    'A/manifest.yaml': manifestOf('say'),
    'A/tool.ts': counting,
    'B/manifest.yaml': manifestOf('b'),
    'B/tool.ts': 'export class Tools { async b() {} }',
  });
  const folder = watch(root);
  expect(await say(folder)).toBe('1');
  await after(folder, () => {
    writeInto(root, 'A/notes.sqlite', 'data');
    writeInto(root, 'A/cache/page.html', 'data');
    utimesSync(join(root, 'A/tool.ts'), new Date(), new Date());
    writeInto(root, 'B/tool.ts', 'export class Tools { async b() { return 1; } }');
  });
  expect(await say(folder)).toBe('2');
});

test('files that a tool imports from its folder are reloaded with it', async () => {
  const root = writeFiles({
    'A/manifest.yaml': manifestOf('say'),
    'A/tool.ts': 'import { word } from "./words/word.ts"; export class Tools { async say() { return word; } }',
    'A/words/word.ts': 'export const word: string = "one";',
  });
  const client = new PocketAgentClient({
    mcpConfig: { mcpServers: { tools: servedOnStdio(root, '--watch') } },
    logger: silent,
  });
  onTestFinished(() => client.close());
  const said = async () => (await client.callTool('say', {})).content;
  expect(await said()).toEqual([{ type: 'text', text: 'one' }]);
  writeInto(root, 'A/words/word.ts', 'export const word: string = "two";');
  await expect.poll(said).toEqual([{ type: 'text', text: 'two' }]);
});

test('a file outside the folders is shared and not reloaded', async () => {
  const counting = (name: string, word: string) => `import { counter } from '../counter.ts';
    export class Tools { async ${name}() { return '${word} ' + ++counter.count; } }`;
  const root = writeFiles({
    'counter.ts': 'export const counter: { count: number } = { count: 0 };',
    'A/manifest.yaml': manifestOf('a'),
    'A/tool.ts': counting('a', 'old'),
    'B/manifest.yaml': manifestOf('b'),
    'B/tool.ts': counting('b', 'other'),
  });
  const client = new PocketAgentClient({
    mcpConfig: { mcpServers: { tools: servedOnStdio(root, '--watch') } },
    logger: silent,
  });
  onTestFinished(() => client.close());
  const told = async (name: string) => {
    const { content } = await client.callTool(name, {});
    return content.map((block) => (block.type === 'text' ? block.text : block.type)).join();
  };
  expect(await told('a')).toBe('old 1');
  expect(await told('b')).toBe('other 2');
  writeInto(root, 'A/tool.ts', counting('a', 'new'));
  const counts: string[] = [];
  const next = async () => {
    const [word, count = ''] = (await told('a')).split(' ');
    counts.push(count);
    return word;
  };
  await expect.poll(next).toBe('new');
  expect(counts).toEqual(counts.map((_, index) => String(3 + index)));
});

test('nothing is reloaded after close', async () => {
  const root = writeFiles({ 'A/manifest.yaml': manifestOf('say'), 'A/tool.ts': saying('one') });
  const folder = loadToolFolder(root, { logger: silent, watch: true });
  const other = watch(root);
  await Promise.all([folder.load(), other.load()]);
  let changes = 0;
  folder.onChange(() => changes++);
  await folder.close();
  folder.onChange(() => changes++);
  await after(other, () => writeInto(root, 'A/tool.ts', saying('two')));
  expect(changes).toBe(0);
});

test('skills: edits of the front matter, new and removed skills change the list; a broken edit is reported', async () => {
  const skillText = (name: string, about: string) => `---\nname: ${name}\ndescription: ${about}\n---\nText.\n`;
  const root = writeFiles({ 'pdf/SKILL.md': skillText('pdf', 'One'), 'csv/SKILL.md': skillText('csv', 'Commas') });
  const { logger, lines } = recordLog();
  const source = skills(root, { logger, watch: true });
  onTestFinished(() => source.close());
  const listed = () => source.skills.map(({ name, description }) => `${name}: ${description}`);
  await source.load();
  const { revision } = source;
  await after(source, () => writeInto(root, 'pdf/SKILL.md', skillText('pdf', 'Two')));
  expect(listed()).toEqual(['csv: Commas', 'pdf: Two']);
  expect(JSON.stringify(await source.listTools())).toContain('- pdf: Two');
  expect(source.revision).toBeGreaterThan(revision);
  await after(source, () => {
    writeInto(root, 'pdf/SKILL.md', 'broken');
    writeInto(root, 'docx/SKILL.md', skillText('docx', 'Words'));
  });
  expect(listed()).toEqual(['csv: Commas', 'docx: Words', 'pdf: Two']);
  expect(lines).toEqual([expect.stringContaining('pdf/SKILL.md:1:1: found no front matter')]);
  await expect(source.callTool('load_skill', { skill: 'pdf' })).rejects.toThrow('found no front matter');
  await after(source, () => rmSync(join(root, 'csv'), { recursive: true }));
  expect(listed()).toEqual(['docx: Words', 'pdf: Two']);
  expect(lines).toHaveLength(1);
});

test('skills: the next load_skill returns an edited text, and the list does not change', async () => {
  const skillText = (text: string) => `---\nname: pdf\ndescription: Forms\n---\n${text}\n`;
  const root = writeFiles({ 'pdf/SKILL.md': skillText('one') });
  const source = skills(root, { logger: silent, watch: true });
  onTestFinished(() => source.close());
  await source.load();
  writeInto(root, 'pdf/SKILL.md', skillText('two'));
  // the next change is seen after the edit
  await after(source, () => writeInto(root, 'new/SKILL.md', skillText('three').replace('pdf', 'new')));
  expect(source.revision).toBe(2);
  expect((await source.callTool('load_skill', { skill: 'pdf' })).content).toMatchObject([{ text: /^two/ }]);
});
