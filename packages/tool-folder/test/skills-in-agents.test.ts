// Skills in agents: the option, rules for single skills, tool folders with a SKILL.md, and skills over MCP.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { loadToolFolder, skills } from '@pocket-agent/tool-folder';
import { type AuditRecord, type FilteredTool, PocketAgent, type PocketAgentOptions } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { resultText, scriptedAgent, silent } from '../../pocket-agent/test/helpers.ts';
import { manifestOf, recordLog, writeFiles, writeInto } from './files.ts';

const skillText = (name: string, more = '') =>
  `---\nname: ${name}\ndescription: Does ${name}\n${more}---\nDo ${name}.\n`;

function folder(): string {
  return writeFiles({
    'pdf/SKILL.md': skillText('pdf'),
    'pdf/notes.txt': 'a note',
    'deploy/SKILL.md': skillText('deploy', 'metadata:\n  capability: write\n'),
  });
}

const load = (skill: string) => ({ toolCalls: [{ name: 'load_skill', arguments: { skill } }] });

/** The skills that the model was shown in each call, by tool. */
const shown = ({ calls }: ScriptedModel) =>
  calls.map(({ tools = [] }) =>
    tools.map((tool) => {
      const schema = tool.type === 'function' ? tool.inputSchema.properties?.skill : undefined;
      const names = typeof schema === 'object' ? schema.enum?.join(' ') : undefined;
      return `${tool.name}: ${names}`;
    }),
  );

describe('the option skills', () => {
  test('offers load_skill and read_skill_file', async () => {
    const { agent, model } = scriptedAgent(
      [
        load('pdf'),
        { toolCalls: [{ name: 'read_skill_file', arguments: { skill: 'pdf', path: 'notes.txt' } }] },
        'Done.',
      ],
      { skills: [folder()] },
    );
    expect(await agent.run('Fill the form.')).toBe('Done.');
    expect(shown(model)[0]).toEqual(['load_skill: deploy pdf', 'read_skill_file: deploy pdf']);
    expect(resultText(agent, 0)).toContain('Do pdf.');
    expect(resultText(agent, 1)).toBe('a note');
    await agent.close();
  });

  test('also applies to forks, which do not read the skills again', async () => {
    const root = folder();
    const { agent } = scriptedAgent(['Hello.', load('pdf'), 'Done.'], { skills: [root] });
    await agent.run('Hello');
    writeInto(root, 'late/SKILL.md', skillText('late'));
    const fork = agent.fork();
    await fork.run('Go on.');
    expect(resultText(fork, 0)).toContain('Do pdf.');
    const [tool] = await fork.listTools();
    expect(JSON.stringify(tool?.tool.inputSchema)).not.toContain('late');
    await agent.close();
  });

  test('is relative to the folder that is current when the agent is made', async () => {
    const before = process.cwd();
    process.chdir(folder());
    const { agent } = scriptedAgent([load('pdf'), 'Done.'], { skills: ['./pdf'] });
    process.chdir(before);
    await agent.run('Go.');
    expect(resultText(agent, 0)).toContain('Do pdf.');
  });

  test.each([{ given: './skills' }, { given: [7] }, { given: [''] }])('refuses $given', ({ given }) => {
    const options = { llmModel: 'demo', skills: given } as unknown as PocketAgentOptions;
    expect(() => new PocketAgent(options)).toThrow(/skills.*a list of folders, also of one: skills: \['\.\/skills'\]/);
  });

  test('a folder that does not exist ends the run with a clear error', async () => {
    const { agent } = scriptedAgent(['Hello.'], { skills: ['/does/not/exist'] });
    await expect(agent.run('Hello')).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('Cannot read the skill folder /does/not/exist'),
    });
  });

  test('without the package for skills, the error says what to install', () => {
    const file = new URL('../../pocket-agent/test/fixtures/programs/without-tool-folder.ts', import.meta.url);
    const args = ['-C', 'pocket-agent/source', fileURLToPath(file)];
    const { stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    expect(JSON.parse(stdout)).toEqual({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(
        /npm install CHECKOUT\/tarballs\/pocket-agent-tool-folder-\d+\.\d+\.\d+\.tgz, where/,
      ),
    });
  });

  test('broken skills are logged, and the others are offered', async () => {
    const { logger, lines } = recordLog();
    const root = folder();
    writeInto(root, 'bad/SKILL.md', 'x');
    const { agent, model } = scriptedAgent(['Hello.'], { skills: [root], logger });
    await agent.run('Hello');
    expect(shown(model)[0]?.[0]).toBe('load_skill: deploy pdf');
    expect(lines).toEqual([expect.stringContaining('bad/SKILL.md:1:1: found no front matter')]);
  });
});

describe('rules for single skills', () => {
  const cases: [string, NonNullable<PocketAgentOptions['access']>, string[]][] = [
    ['deny for one skill', { profile: { capabilities: ['read', 'write'], deny: ['skill:deploy'] } }, ['pdf']],
    ['deny for all skills', { profile: { capabilities: ['read'], deny: ['skill:*'] } }, []],
    ['deny for the tools', { profile: { capabilities: ['read'], deny: ['*_skill*'] } }, []],
    ['the capability that a skill declares', { profile: 'reader' }, ['pdf']],
    ['allow for one skill', { profile: { capabilities: [], allow: ['skill:deploy'] } }, ['deploy']],
    ['a filter', { filter: ({ name }: FilteredTool) => name === 'skill:pdf' }, ['pdf']],
  ];

  test.each(cases)('%s decides which skills are offered', async (_what, access, expected) => {
    const { agent, model } = scriptedAgent([load('pdf'), load('deploy'), load('unknown'), 'Done.'], {
      skills: [folder()],
      access,
    });
    await agent.run('Go.');
    const names = expected.join(' ');
    expect(shown(model)[0]).toEqual(expected.length > 0 ? [`load_skill: ${names}`, `read_skill_file: ${names}`] : []);
    for (const [index, name] of ['pdf', 'deploy'].entries()) {
      if (expected.includes(name)) expect(resultText(agent, index)).toContain(`Do ${name}.`);
      else expect(resultText(agent, index)).toContain('"load_skill" may not be called here');
    }
    expect(resultText(agent, 2)).not.toContain('deploy');
    const listed = (await agent.listTools()).map(({ tool }) => JSON.stringify(tool.inputSchema));
    for (const name of ['pdf', 'deploy'])
      expect(listed.some((schema) => schema.includes(`"${name}"`))).toBe(expected.includes(name));
    await agent.close();
  });

  test('the profile of a run narrows the list, and the next run sees all again', async () => {
    const { agent, model } = scriptedAgent(['One.', load('deploy'), 'Two.', 'Three.'], { skills: [folder()] });
    await agent.run('1');
    await agent.run('2', { profile: 'reader' });
    await agent.run('3');
    expect(shown(model).map(([first]) => first)).toEqual([
      'load_skill: deploy pdf',
      'load_skill: pdf',
      'load_skill: pdf',
      'load_skill: deploy pdf',
    ]);
    expect(resultText(agent, 0)).toContain('it can write, and only read is allowed');
  });

  test('the rules of a parent agent apply to its sub-agents', async () => {
    const { agent: child } = scriptedAgent([load('deploy'), 'Tried.'], {
      agentConfig: { name: 'Child' },
      skills: [folder()],
    });
    const { agent } = scriptedAgent(
      [{ toolCalls: [{ name: 'Child-message', arguments: { message: 'Deploy.' } }] }, 'Done.'],
      { subAgents: [child], access: { profile: { capabilities: ['read', 'write'], deny: ['skill:deploy'] } } },
    );
    await agent.run('Go.');
    expect(JSON.stringify(child.messages)).toContain(
      'may not be called here for \\"skill:deploy\\": it is on the deny list (rule of a parent',
    );
  });

  test('approvals name the skill, and an approver cannot choose a refused one', async () => {
    const asked: unknown[] = [];
    const { agent } = scriptedAgent([load('pdf'), load('pdf'), load('pdf'), 'Done.'], {
      skills: [folder()],
      access: { confirm: 'always', profile: 'reader' },
      approve: ({ tool, capability }) => {
        asked.push([tool, capability]);
        return asked.length === 1 ? { allow: { skill: 'deploy' } } : { allow: true, remember: 'conversation' };
      },
    });
    await agent.run('Go.');
    expect(resultText(agent, 0)).toContain('it can write, and only read is allowed');
    expect(resultText(agent, 1)).toContain('Do pdf.');
    expect(resultText(agent, 2)).toContain('Do pdf.');
    expect(asked).toEqual([
      ['skill:pdf', 'read'],
      ['skill:pdf', 'read'],
    ]);
  });

  test('the error for an unknown skill does not reveal refused skills, also if calls need approval', async () => {
    const { agent } = scriptedAgent([load('unknown'), { toolCalls: [{ name: 'load_skill' }] }, 'Done.'], {
      skills: [folder()],
      access: { confirm: 'always', profile: 'reader' },
      approve: () => 'allow',
    });
    await agent.run('Go.');
    for (const index of [0, 1]) {
      expect(resultText(agent, index)).toContain('pdf');
      expect(resultText(agent, index)).not.toContain('deploy');
    }
  });

  test('a remembered approval of one skill does not cover another', async () => {
    const asked: string[] = [];
    const { agent } = scriptedAgent([load('pdf'), load('deploy'), load('pdf'), 'Done.'], {
      skills: [folder()],
      access: { confirm: 'always' },
      approve: ({ tool }) => {
        asked.push(tool);
        return { allow: true, remember: 'conversation' };
      },
    });
    await agent.run('Go.');
    expect(asked).toEqual(['skill:pdf', 'skill:deploy']);
  });

  test('audit records have the capability of the skill', async () => {
    const records: AuditRecord[] = [];
    const { agent } = scriptedAgent([load('deploy'), 'Done.'], {
      skills: [folder()],
      hooks: { onEvent: (event) => void (event.type === 'audit' && records.push(event.data)) },
    });
    await agent.run('Go.');
    expect(records.map(({ tool, capability, decision }) => [tool, capability, decision])).toEqual([
      ['load_skill', 'write', 'allowed'],
    ]);
  });
});

describe('a SKILL.md in a tool folder', () => {
  const code = 'export class Tools { async greet() { return "hi"; } }';
  const files = () => ({
    'Greeter/manifest.yaml': manifestOf('greet'),
    'Greeter/tool.ts': code,
    'Greeter/SKILL.md': skillText('greeting'),
    'pdf/SKILL.md': skillText('pdf'),
  });

  test('is offered while the folder is active', async () => {
    const tools = loadToolFolder(writeFiles(files()), { logger: silent });
    onTestFinished(() => tools.close());
    const names = async () => (await tools.listTools()).map(({ name }) => name);
    expect(await names()).toEqual(['greet', 'load_skill', 'read_skill_file']);
    expect(tools.folders.map(({ name, skill }) => [name, skill?.name])).toEqual([
      ['Greeter', 'greeting'],
      ['pdf', 'pdf'],
    ]);
    expect((await tools.callTool('load_skill', { skill: 'greeting' })).content).toEqual([
      { type: 'text', text: 'Do greeting.\n\nFiles of this skill, for read_skill_file:\nmanifest.yaml\ntool.ts' },
    ]);
    await tools.activate(['pdf']);
    expect(await names()).toEqual(['load_skill', 'read_skill_file']);
    await expect(tools.callTool('load_skill', { skill: 'greeting' })).rejects.toThrow('There is no skill "greeting"');
    await tools.activate([]);
    expect(await names()).toEqual([]);
  });

  test('with a problem is a problem of the folder', async () => {
    const { logger, lines } = recordLog();
    const root = writeFiles({
      ...files(),
      'Greeter/SKILL.md': '---\nname: greeting\n---\n',
      'pdf/SKILL.md': skillText('docx'),
    });
    const tools = loadToolFolder(root, { logger });
    expect(await tools.listTools()).toEqual([]);
    expect(lines.map((line) => line.replace(root, '').split(';')[0])).toEqual([
      'warn: /Greeter/SKILL.md:2:1: found no "description"',
      'warn: /pdf/SKILL.md:2:7: found "docx"',
    ]);
  });

  test('is reloaded after an edit', async () => {
    const root = writeFiles(files());
    const tools = loadToolFolder(root, { logger: silent, watch: true });
    onTestFinished(() => tools.close());
    const { promise, resolve } = Promise.withResolvers<void>();
    await tools.listTools();
    tools.onChange(resolve);
    writeInto(root, 'pdf/SKILL.md', skillText('pdf').replace('Does pdf', 'Fills forms'));
    await promise;
    expect(JSON.stringify(await tools.listTools())).toContain('- pdf: Fills forms');
  });

  test('is subject to the rules for single skills', async () => {
    const tools = loadToolFolder(writeFiles(files()), { logger: silent });
    const { agent, model } = scriptedAgent([load('pdf'), 'Done.'], {
      tools: [tools],
      access: { profile: { capabilities: ['read'], deny: ['skill:pdf'] } },
    });
    await agent.run('Go.');
    expect(shown(model)[0]).toEqual(['load_skill: greeting', 'read_skill_file: greeting']);
    expect(resultText(agent, 0)).toContain('it is on the deny list');
    await agent.close();
  });

  test('a tool of a folder may have the name load_skill, too', async () => {
    const root = writeFiles({
      'Own/manifest.yaml': manifestOf('load_skill'),
      'Own/tool.ts': 'export class Tools { async load_skill() { return "own"; } }',
      'pdf/SKILL.md': skillText('pdf'),
    });
    const tools = loadToolFolder(root, { logger: silent });
    const { agent, model } = scriptedAgent(
      [
        load('x'),
        { toolCalls: [{ name: 'skills_load_skill', arguments: { skill: 'pdf' } }] },
        { toolCalls: [{ name: 'skills_load_skill', arguments: { skill: 'pdf' } }] },
        'Done.',
      ],
      { tools: [tools] },
    );
    await agent.run('Go.');
    expect(shown(model)[0]?.[1]).toBe('skills_load_skill: pdf');
    expect(resultText(agent, 0)).toBe('own');
    expect(resultText(agent, 1)).toContain('Do pdf.');
    await agent.close();
  });
});

describe('several sources of skills in one agent', () => {
  const greeter = () =>
    writeFiles({
      'Greeter/manifest.yaml': manifestOf('greet'),
      'Greeter/tool.ts': 'export class Tools { async greet() { return "hi"; } }',
      'Greeter/SKILL.md': skillText('greeting'),
    });
  const namesIn = ({ calls }: ScriptedModel) => calls[0]?.tools?.map(({ name }) => name);

  test('have one load_skill and one read_skill_file', async () => {
    const csv = writeFiles({ 'csv/SKILL.md': skillText('csv'), 'csv/notes.txt': 'commas' });
    const { agent, model } = scriptedAgent(
      [
        load('greeting'),
        load('csv'),
        load('pdf'),
        { toolCalls: [{ name: 'read_skill_file', arguments: { skill: 'csv', path: 'notes.txt' } }, { name: 'greet' }] },
        'Done.',
      ],
      {
        tools: [loadToolFolder(greeter(), { logger: silent }), skills(csv, { logger: silent })],
        skills: [folder()],
      },
    );
    expect(await agent.run('Go.')).toBe('Done.');
    expect(shown(model)[0]?.slice(0, 2)).toEqual([
      'load_skill: greeting csv deploy pdf',
      'read_skill_file: greeting csv deploy pdf',
    ]);
    expect(namesIn(model)).toEqual(['load_skill', 'read_skill_file', 'greet']);
    expect([0, 1, 2, 3, 4].map((index) => resultText(agent, index).split('\n')[0])).toEqual([
      'Do greeting.',
      'Do csv.',
      'Do pdf.',
      'commas',
      'hi',
    ]);
    expect(resultText(agent, 0)).not.toContain('Folder of this skill');
    expect(resultText(agent, 1)).toContain(`Folder of this skill: ${join(csv, 'csv')}`);
    const fork = agent.fork();
    expect((await fork.listTools()).map(({ name }) => name)).toEqual(namesIn(model));
    await agent.close();
  });

  test('obey the rules for single skills', async () => {
    const { agent, model } = scriptedAgent([load('pdf'), 'Done.'], {
      tools: [loadToolFolder(greeter(), { logger: silent })],
      skills: [folder()],
      access: { profile: { capabilities: ['read'], allow: ['greet'], deny: ['skill:pdf'] } },
    });
    await agent.run('Go.');
    expect(shown(model)[0]?.[0]).toBe('load_skill: greeting');
    expect(namesIn(model)).toEqual(['load_skill', 'read_skill_file', 'greet']);
    expect(resultText(agent, 0)).toContain('it is on the deny list');
    await agent.close();
  });

  test('two skills with one name: the first is offered, and the other is reported with its position', async () => {
    const { logger, lines } = recordLog();
    const first = writeFiles({ 'pdf/SKILL.md': skillText('pdf').replace('Do pdf', 'First') });
    const second = writeFiles({ 'pdf/SKILL.md': `---\ndescription: Other\nname: pdf\n---\nSecond.` });
    const { agent, model } = scriptedAgent([load('pdf'), 'Done.', 'Again.'], {
      tools: [loadToolFolder(first, { logger })],
      skills: [second],
      logger,
    });
    await agent.run('Go.');
    await agent.run('Go on.');
    expect(shown(model)[0]?.[0]).toBe('load_skill: pdf');
    expect(resultText(agent, 0)).toContain('First.');
    expect(lines).toEqual([
      `warn: ${second}/pdf/SKILL.md:3:7: found "pdf" again, as in ${first}/pdf; expected a different name for each skill`,
    ]);
    await agent.close();
  });

  test('one skill that two sources find is offered once, without a report', async () => {
    const { logger, lines } = recordLog();
    const root = folder();
    const { agent, model } = scriptedAgent(['Done.'], {
      tools: [skills(root, { logger }), loadToolFolder(join(root, 'pdf'), { logger })],
      skills: [root],
      logger,
    });
    await agent.run('Go.');
    expect(shown(model)[0]?.[0]).toBe('load_skill: deploy pdf');
    expect(lines).toEqual([]);
    await agent.close();
  });

  test('tools keep their names: a tool of a folder called load_skill stays beside that of the skills', async () => {
    const own = writeFiles({
      'Own/manifest.yaml': manifestOf('load_skill'),
      'Own/tool.ts': 'export class Tools { async load_skill() { return "own"; } }',
    });
    const { agent, model } = scriptedAgent([load('pdf'), 'Done.'], {
      tools: [loadToolFolder(folder(), { logger: silent }), loadToolFolder(own, { logger: silent })],
    });
    await agent.run('Go.');
    expect(namesIn(model)).toEqual(['load_skill', 'read_skill_file', expect.stringMatching(/^load_skill_\w+$/)]);
    expect(resultText(agent, 0)).toContain('Do pdf.');
    await agent.close();
  });

  test('a skill that a watched folder adds is in the next step', async () => {
    const root = folder();
    const tools = loadToolFolder(root, { logger: silent, watch: true });
    const more = skills(writeFiles({ 'csv/SKILL.md': skillText('csv') }), { logger: silent, watch: true });
    const { agent, model } = scriptedAgent(['One.', 'Two.', 'Three.'], { tools: [tools, more] });
    await agent.run('Go.');
    for (const [source, path] of [
      [tools, root],
      [more, more.paths[0] ?? ''],
    ] as const) {
      const { promise, resolve } = Promise.withResolvers<void>();
      source.onChange(resolve);
      writeInto(path, 'late/SKILL.md', skillText(`late`).replace('Does', `Is in ${path === root ? 'one' : 'two'};`));
      await promise;
      await agent.run('Go on.');
    }
    expect(shown(model).map(([first]) => first)).toEqual([
      'load_skill: deploy pdf csv',
      'load_skill: deploy late pdf csv',
      'load_skill: deploy late pdf csv',
    ]);
    await agent.close();
  });
});

describe('skills over MCP', () => {
  async function connect(url: string, token: string): Promise<Client> {
    const client = new Client({ name: 'test', version: '1.0.0' });
    const headers = { authorization: `Bearer ${token}` };
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
    onTestFinished(() => client.close());
    return client;
  }

  const tokens = { all: 'admin', reader: 'reader', none: { capabilities: ['read'], deny: ['skill:*'] } } as const;

  async function serve(options: Partial<PocketAgentOptions> = {}): Promise<{ url: string; agent: PocketAgent }> {
    const agent = new PocketAgent({
      agentConfig: { llmModel: new ScriptedModel([]), name: 'Helper' },
      skills: [folder()],
      logger: silent,
      ...options,
    } as PocketAgentOptions);
    const server = await agent.asMcpServer().listen({ port: 0, tokens });
    onTestFinished(() => agent.close());
    return { url: server.url, agent };
  }

  const serveAgent = async () => (await serve()).url;

  async function serveFolders(): Promise<string> {
    const tools = loadToolFolder(folder(), { logger: silent });
    const server = await tools.asMcpServer().listen({ port: 0, tokens });
    onTestFinished(async () => {
      await server.close();
      await tools.close();
    });
    return server.url;
  }

  test.each([
    ['an agent', serveAgent],
    ['tool folders', serveFolders],
  ])('%s: clients list and read what their profile allows', async (_what, start) => {
    const url = await start();
    const all = await connect(url, 'all');
    const { resources } = await all.listResources();
    expect(resources.map(({ uri, name, description, mimeType }) => [uri, name, description, mimeType])).toEqual([
      ['skill://deploy/SKILL.md', 'deploy', 'Does deploy', 'text/markdown'],
      ['skill://pdf/SKILL.md', 'pdf', 'Does pdf', 'text/markdown'],
    ]);
    const { resourceTemplates } = await all.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual(['skill://{skill}/{+path}']);
    const read = async (client: Client, uri: string) => (await client.readResource({ uri })).contents;
    expect(await read(all, 'skill://deploy/SKILL.md')).toEqual([
      {
        uri: 'skill://deploy/SKILL.md',
        mimeType: 'text/markdown',
        text: skillText('deploy', 'metadata:\n  capability: write\n'),
      },
    ]);
    expect(await read(all, 'skill://pdf/notes.txt')).toEqual([
      { uri: 'skill://pdf/notes.txt', mimeType: 'text/plain', text: 'a note' },
    ]);
    const reader = await connect(url, 'reader');
    expect((await reader.listResources()).resources.map(({ name }) => name)).toEqual(['pdf']);
    await expect(read(reader, 'skill://deploy/SKILL.md')).rejects.toThrow('skill://deploy/SKILL.md not found');
    const none = await connect(url, 'none');
    expect((await none.listResources()).resources).toEqual([]);
    await expect(read(none, 'skill://pdf/notes.txt')).rejects.toThrow('not found');
  });

  test.each([
    'skill://pdf/../deploy/SKILL.md',
    'skill://pdf/%2e%2e/deploy/SKILL.md',
    'skill://pdf/..%2fdeploy%2fSKILL.md',
    'skill://pdf//etc/passwd',
    'skill://pdf/%00',
    'skill://pdf/%zz',
    'skill://pdf',
    'skill://pdf/',
    'skill://',
    'skill://unknown/SKILL.md',
    'file:///etc/passwd',
  ])('%s cannot be read', async (uri) => {
    const client = await connect(await serveAgent(), 'all');
    const error = await client.readResource({ uri }).catch((thrown) => thrown);
    expect(error).toMatchObject({ code: -32602 });
  });

  test('reading is audited, and needs the same approval as loading the skill', async () => {
    const asked: string[] = [];
    const auditFile = join(folder(), 'audit.jsonl');
    const { url, agent } = await serve({
      access: { confirm: 'always', auditFile },
      approve: ({ tool, arguments: { uri } }) => {
        asked.push(`${tool} ${uri}`);
        return asked.length === 1 ? 'deny' : 'allow';
      },
    });
    const client = await connect(url, 'all');
    const uri = 'skill://pdf/SKILL.md';
    await expect(client.readResource({ uri })).rejects.toThrow('was not called');
    expect((await client.readResource({ uri })).contents).toHaveLength(1);
    const reader = await connect(url, 'reader');
    await expect(reader.readResource({ uri: 'skill://deploy/SKILL.md' })).rejects.toThrow('not found');
    expect(asked).toEqual([`skill:pdf ${uri}`, `skill:pdf ${uri}`]);
    await agent.close();
    const records = readFileSync(auditFile, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(
      records.map(({ tool, capability, decision, by, outcome }) => [tool, capability, decision, by, outcome]),
    ).toEqual([
      ['resources/read', 'read', 'denied', 'approver', 'not run'],
      ['resources/read', 'read', 'approved', 'approver', 'done'],
      ['resources/read', 'write', 'refused', 'profile', 'not run'],
    ]);
  });

  test('a served agent without skills has no resources', async () => {
    const client = await connect((await serve({ skills: [] })).url, 'all');
    expect(client.getServerCapabilities()?.resources).toBeUndefined();
  });

  test('clients of served tool folders call load_skill only for what their profile allows', async () => {
    const client = await connect(await serveFolders(), 'reader');
    const { tools } = await client.listTools();
    expect(JSON.stringify(tools)).not.toContain('deploy');
    const { content } = await client.callTool({ name: 'load_skill', arguments: { skill: 'pdf' } });
    expect(JSON.stringify(content)).toContain('Do pdf.');
    await expect(client.callTool({ name: 'load_skill', arguments: { skill: 'deploy' } })).rejects.toThrow(
      '"skill:deploy" not found',
    );
  });

  test('skills() of several folders is one source', async () => {
    const source = skills([folder(), writeFiles({ 'csv/SKILL.md': skillText('csv') })], { logger: silent });
    expect((await source.load()).map(({ name }) => name)).toEqual(['deploy', 'pdf', 'csv']);
  });
});
