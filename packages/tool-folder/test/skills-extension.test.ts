// The MCP extension for skills (skills/list, skills/get), as the client of the MCP SDK uses it: it checks every file.
import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { SkillsClient } from '@modelcontextprotocol/client/ext/skills';
import { loadToolFolder } from '@pocket-agent/tool-folder';
import { PocketAgent } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { expect, onTestFinished, test } from 'vitest';
import { silent } from '../../pocket-agent/test/helpers.ts';
import { writeFiles, writeInto } from './files.ts';

const tokens = { all: 'admin', reader: { capabilities: ['read'], deny: ['skill:deploy'] } } as const;

const pdf = `---
name: pdf
description: '  Fills forms  '
license: MIT
metadata:
  version: '1.0'
  reviewed: 2026-01-31
other: [1, two, null]
---

Read references/all fields.md.
`;

const files = (): Record<string, string> => ({
  'pdf/SKILL.md': pdf,
  'pdf/references/all fields.md': '\uFEFF# Fields\r\n',
  'pdf/empty.txt': '',
  'pdf/.hidden': 'x',
  'deploy/SKILL.md': '---\nname: deploy\ndescription: Deploys\n---\n',
});

async function connect(url: string, { token = 'all', ...options }: ClientOptions & { token?: string } = {}) {
  const client = new Client({ name: 'test', version: '1.0.0' }, options);
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  onTestFinished(() => client.close());
  return { client, skills: new SkillsClient(client) };
}

async function serveAgent(root: string): Promise<string> {
  const agent = new PocketAgent({ llmModel: new ScriptedModel([]), name: 'Helper', skills: [root], logger: silent });
  const { url } = await agent.asMcpServer().listen({ port: 0, tokens });
  onTestFinished(() => agent.close());
  return url;
}

async function serveFolders(root: string, options = {}): Promise<string> {
  const tools = loadToolFolder(root, { logger: silent, ...options });
  const server = await tools.asMcpServer().listen({ port: 0, tokens });
  onTestFinished(async () => {
    await server.close();
    await tools.close();
  });
  return server.url;
}

const eras = {
  2025: {},
  2026: { versionNegotiation: { mode: { pin: '2026-07-28' as const } } },
};

for (const [era, options] of Object.entries(eras)) {
  test.each([
    ['an agent', serveAgent],
    ['tool folders', serveFolders],
  ])(`a client of ${era} lists the skills of %s and reads every file of them`, async (_what, serve) => {
    const { skills } = await connect(await serve(writeFiles(files())), options);
    expect(skills.supported).toBe(true);
    const { skills: listed } = await skills.list();
    expect(listed.map(({ uri }) => uri)).toEqual(['skill://deploy/SKILL.md', 'skill://pdf/SKILL.md']);
    const skill = listed[1];
    if (!skill || skill.resources === 'dynamic') throw new Error('The skill has no list of files.');
    expect(skill.frontmatter).toEqual({
      name: 'pdf',
      description: '  Fills forms  ',
      license: 'MIT',
      metadata: { version: '1.0', reviewed: '2026-01-31' },
      other: [1, 'two', null],
    });
    expect(skill.resources.map(({ uri, size }) => [uri, size])).toEqual([
      ['skill://pdf/SKILL.md', pdf.length],
      ['skill://pdf/empty.txt', 0],
      ['skill://pdf/references/all%20fields.md', 13],
    ]);
    const main = await skills.read(skill);
    expect(main).toMatchObject({ verified: true, text: pdf });
    expect(await skills.read(skill, 'references/all fields.md')).toMatchObject({ verified: true });
    expect(await skills.read(skill, 'empty.txt')).toMatchObject({ verified: true });
    await expect(skills.read(skill, '.hidden')).rejects.toMatchObject({ reason: 'unlisted' });
    expect((await skills.get(skill.uri)).skill).toEqual(skill);
  });
}

test('a client sees only the skills that its profile allows', async () => {
  const url = await serveAgent(writeFiles(files()));
  const { skills } = await connect(url, { token: 'reader' });
  expect((await skills.list()).skills.map(({ uri }) => uri)).toEqual(['skill://pdf/SKILL.md']);
  await expect(skills.get('skill://deploy/SKILL.md')).rejects.toMatchObject({ code: -32602 });
  await expect(skills.get('skill://unknown/SKILL.md')).rejects.toMatchObject({ code: -32602 });
  await expect(skills.get('skill://pdf/empty.txt')).rejects.toMatchObject({ code: -32602 });
});

test('an edited skill has new digests, and a broken one is not listed', async () => {
  const root = writeFiles(files());
  const { skills } = await connect(await serveAgent(root));
  const uri = 'skill://pdf/SKILL.md';
  const { skill } = await skills.get(uri);
  writeInto(root, 'pdf/SKILL.md', pdf.replace('MIT', 'Apache-2.0'));
  await expect(skills.read(skill)).rejects.toMatchObject({ reason: 'size' });
  const { skill: edited } = await skills.get(uri);
  expect(edited.frontmatter.license).toBe('Apache-2.0');
  expect(await skills.read(edited)).toMatchObject({ verified: true });
  writeInto(root, 'pdf/SKILL.md', 'broken');
  await expect(skills.get(uri)).rejects.toMatchObject({ code: -32602 });
  expect((await skills.list()).skills.map((each) => each.uri)).toEqual(['skill://deploy/SKILL.md']);
});

test('many skills are listed in pages; skills that some clients refuse are left out, but stay resources', async () => {
  const root = writeFiles({
    ...files(),
    'loose/SKILL.md': '---\nname: loose\ndescription: x\nmetadata:\n  version: 1.0\n---\n',
  });
  for (let index = 0; index < 45; index++)
    writeInto(root, `s${index}/SKILL.md`, `---\nname: s${index}\ndescription: x\n---\n`);
  for (let index = 0; index < 512; index++) writeInto(root, `pdf/many/${index}.txt`, 'x');
  const { skills, client } = await connect(await serveAgent(root));
  const { skills: all } = await skills.list();
  expect(all).toHaveLength(46);
  expect(all.filter(({ uri }) => /pdf|loose/.test(uri))).toEqual([]);
  const page = await skills.list({ cursor: 'skill://s44/SKILL.md' });
  expect(page.skills.length).toBeLessThan(20);
  await expect(skills.list({ cursor: 'unknown' })).rejects.toMatchObject({ code: -32602 });
  expect((await client.listResources()).resources).toHaveLength(48);
});

test('clients of a watched tool folder are notified when the list of skills changes', async () => {
  const root = writeFiles(files());
  const changed = Promise.withResolvers<void>();
  const listChanged = { resources: { autoRefresh: false, debounceMs: 0, onChanged: () => changed.resolve() } };
  const { skills } = await connect(await serveFolders(root, { watch: true }), { listChanged });
  await skills.list();
  writeInto(root, 'late/SKILL.md', '---\nname: late\ndescription: x\n---\n');
  await changed.promise;
  expect((await skills.list()).skills.map(({ uri }) => uri)).toContain('skill://late/SKILL.md');
});
