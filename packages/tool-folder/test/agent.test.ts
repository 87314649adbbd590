// Tool folders as tools of an agent: several together, switched during a conversation, with MCP servers.
import { join } from 'node:path';
import { loadToolFolder, type ToolFolder, type ToolFolderOptions } from '@pocket-agent/tool-folder';
import { expect, onTestFinished, test } from 'vitest';
import { expectValidHistory, resultText, scriptedAgent, silent } from '../../pocket-agent/test/helpers.ts';
import { fixtures, manifestOf, recordLog, writeFiles } from './files.ts';

function open(path: string, options: ToolFolderOptions = {}): ToolFolder {
  const folder = loadToolFolder(path, { logger: silent, ...options });
  onTestFinished(() => folder.close());
  return folder;
}

const namesOf = async (folder: ToolFolder) => (await folder.listTools()).map(({ name }) => name);

/** Two folders that both have a tool "search". */
function twoFolders(): string {
  const code = (answer: string) => `export class Tools { async search() { return "${answer}"; } }`;
  return writeFiles({
    'Web/manifest.yaml': manifestOf('search'),
    'Web/tool.ts': code('a page'),
    'Git/manifest.yaml': manifestOf('search'),
    'Git/tool.ts': code('a commit'),
  });
}

test('folders can be switched between steps of a conversation', async () => {
  const folder = open(twoFolders(), { active: ['Web'] });
  const { agent, model } = scriptedAgent(
    [
      { toolCalls: [{ name: 'search' }] },
      'I found a page.',
      { toolCalls: [{ name: 'search' }, { name: 'Git_search' }] },
      'I found a commit.',
      'I can do nothing.',
    ],
    { tools: [folder], access: { profile: 'admin' } },
  );
  await agent.run('Search.');
  await folder.activate(['Git']);
  await agent.run('Again.');
  expect(resultText(agent, 0)).toBe('a page');
  expect(resultText(agent, 1)).toContain('There is no tool "search". Available: Git_search.');
  expect(resultText(agent, 2)).toBe('a commit');
  await folder.activate([]);
  await agent.run('And now?');
  const offered = model.calls.map(({ tools = [] }) => tools.map(({ name }) => name).join());
  expect(offered).toEqual(['search', 'search', 'Git_search', 'Git_search', '']);
  expect(agent.messages.filter(({ role }) => role === 'user')).toHaveLength(3);
  expectValidHistory(agent);
  await agent.close();
});

test('tool names of two folders are unique and never change', async () => {
  const { logger, lines } = recordLog();
  const folder = open(twoFolders(), { logger });
  expect(await namesOf(folder)).toEqual(['search', 'Web_search']);
  expect((await folder.callTool('search', {})).content).toEqual([{ type: 'text', text: 'a commit' }]);
  expect((await folder.callTool('Web_search', {})).content).toEqual([{ type: 'text', text: 'a page' }]);
  await folder.activate(['Web']);
  expect(await namesOf(folder)).toEqual(['Web_search']);
  await folder.activate('all');
  expect(await namesOf(folder)).toEqual(['search', 'Web_search']);
  expect(lines).toEqual(['warn: Tool "search" of tool folder "Web" is offered as "Web_search".']);
});

test('a tool of a newly activated folder can be called before it is listed', async () => {
  const folder = open(twoFolders(), { active: ['Web'] });
  expect(await namesOf(folder)).toEqual(['search']);
  await folder.activate(['Git']);
  expect((await folder.callTool('Git_search', {})).content).toEqual([{ type: 'text', text: 'a commit' }]);
});

test('activating an unknown folder fails and changes nothing', async () => {
  const folder = open(twoFolders(), { active: ['Git'] });
  const { revision } = folder;
  await expect(folder.activate(['Git', 'Wbe'])).rejects.toThrow(/no tool folder "Wbe" in .*Available: Git, Web\./);
  expect(await namesOf(folder)).toEqual(['search']);
  expect(folder.revision).toBe(revision);
  expect(folder.folders.map(({ name, active }) => [name, active])).toEqual([
    ['Git', true],
    ['Web', false],
  ]);
  await expect(open(twoFolders(), { active: ['Nope'] }).listTools()).rejects.toThrow('no tool folder "Nope"');
});

test('Tools is constructed once when its folder becomes active and closed when it becomes inactive', async () => {
  const root = writeFiles({
    'A/manifest.yaml': manifestOf('a'),
    'A/tool.ts': `export class Tools {
      constructor({ log }) { this.log = log; log('info', 'made'); }
      async a() { return 'a'; }
      async close() { this.log('info', 'closed'); }
    }`,
  });
  const { logger, lines } = recordLog();
  const folder = open(root, { logger, active: [] });
  await folder.load();
  expect(lines).toEqual([]);
  await folder.activate('all');
  await folder.activate(['A']);
  await folder.callTool('a', {});
  expect(lines).toEqual(['info: [A] made']);
  await folder.activate([]);
  await expect.poll(() => lines).toEqual(['info: [A] made', 'info: [A] closed']);
  await expect(folder.callTool('a', {})).rejects.toMatchObject({ code: 'TOOL_UNKNOWN' });
});

test('a failed constructor is tried again at the next activation', async () => {
  const root = writeFiles({
    'A/manifest.yaml': manifestOf('a'),
    'A/tool.ts': 'export class Tools { constructor({ host }) { host.connect(); } async a() { return "a"; } }',
  });
  let isUp = false;
  const connect = () => {
    if (!isUp) throw new Error('not yet');
  };
  const folder = open(root, { context: { host: { connect } } });
  expect(await folder.load()).toMatchObject([{ tools: [], problems: [{ found: expect.stringContaining('not yet') }] }]);
  isUp = true;
  await folder.activate('all');
  expect(folder.folders).toMatchObject([{ tools: [{ name: 'a' }], problems: [] }]);
  expect((await folder.callTool('a', {})).content).toEqual([{ type: 'text', text: 'a' }]);
});

test('a profile applies to folder tools by their declared capability', async () => {
  const folder = open(fixtures, { active: ['Places', 'Kinds'] });
  const { agent, model } = scriptedAgent(['Nothing to do.'], { tools: [folder], access: { profile: 'reader' } });
  await agent.run('Hello');
  expect(model.calls[0]?.tools?.map(({ name }) => name)).toEqual(['give', 'find']);
  await agent.close();
});

test('a tool that throws or returns a value that is not JSON gives a readable error', async () => {
  const folder = open(fixtures);
  const calls = [{ name: 'fail' }, { name: 'give', arguments: { kind: 'cycle' } }, { name: 'give' }];
  const { agent } = scriptedAgent([{ toolCalls: calls }, 'Sorry.'], { tools: [folder] });
  expect(await agent.run('Try.')).toBe('Sorry.');
  expect(resultText(agent, 0)).toBe('the disk is full');
  expect(resultText(agent, 1)).toContain('not JSON: an object that contains itself');
  expect(resultText(agent, 2)).toMatch(
    /Bad arguments for "give": must have required property 'kind'[\s\S]*JSON Schema/,
  );
  expectValidHistory(agent);
  await agent.close();
});

test('stopping an agent aborts its running tool', async () => {
  const folder = open(join(fixtures, 'Trouble'));
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'hang' }] }], { tools: [folder] });
  const controller = new AbortController();
  const onEvent = ({ type }: { type: string }) => void (type === 'tool_progress' && controller.abort());
  await expect(agent.run('Hang.', { signal: controller.signal, onEvent })).rejects.toMatchObject({ code: 'ABORTED' });
  expect((await folder.callTool('ended', {})).content).toEqual([{ type: 'text', text: '1' }]);
  expectValidHistory(agent);
  await agent.close();
});

test('an agent of the same process can use the server of a folder', async () => {
  const served = open(join(fixtures, 'Places')).asMcpServer();
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'find', arguments: { name: 'Rome' } }] }, 'There.'], {
    mcpConfig: served,
  });
  expect(await agent.run('Where is Rome?')).toBe('There.');
  expect(resultText(agent)).toContain('"name":"Rome"');
  await agent.close();
});

test('an MCP server of a folder runs while the folder is active', async () => {
  const served = open(join(fixtures, 'Places')).asMcpServer();
  const server = await served.listen();
  onTestFinished(() => server.close());
  const root = writeFiles({
    'Local/manifest.yaml': manifestOf('find'),
    'Local/tool.ts': 'export class Tools { async find() { return "here"; } }',
    'Remote/manifest.yaml': `tool_human_name: Far away\nmcp_servers:\n  places:\n    url: ${server.url}\n    capabilities: { find_old: read }\n`,
  });
  const folder = open(root, { active: ['Remote'] });
  expect(await namesOf(folder)).toEqual(['find', 'find_old']);
  const { structuredContent } = await folder.callTool('find', { name: 'Rome' });
  expect(structuredContent).toMatchObject({ name: 'Rome', from: { x: 0, y: 0 } });
  await folder.activate('all');
  expect(await namesOf(folder)).toEqual(['Local_find', 'find', 'find_old']);
  const tools = await folder.listTools();
  expect(tools.map((tool) => folder.judge(tool))).toMatchObject([
    { capability: 'delete', from: 'nothing', ownName: 'find' },
    { capability: 'read', from: 'meta' },
    { capability: 'read', from: 'config' },
  ]);
  const { revision } = folder;
  await folder.activate(['Local']);
  expect(folder.revision).toBeGreaterThan(revision);
  expect(await namesOf(folder)).toEqual(['Local_find']);
});

test('the manifest sets the exposure of its tools; options of the folder and of the agent take precedence', async () => {
  const tools = (name: string, exposure: string) => ({
    [`${name}/manifest.yaml`]: `exposure: ${exposure}\n${manifestOf(name)}`,
    [`${name}/tool.ts`]: `export class Tools { async ${name}() { return 'ok'; } }`,
  });
  const root = writeFiles({ ...tools('near', 'direct'), ...tools('far', 'deferred'), ...tools('own', 'hidden') });
  const shown = async (folderOptions: ToolFolderOptions, more: object = {}) => {
    const { agent, model } = scriptedAgent(['done'], { tools: [open(root, folderOptions)], ...more });
    await agent.run('go');
    return (model.calls[0]?.tools ?? []).map(({ name }) => name);
  };
  expect(await shown({})).toEqual(['near', 'find_tools']);
  expect(await shown({ exposure: { own: 'direct' } })).toEqual(['near', 'own', 'find_tools']);
  expect(await shown({ exposure: { own: 'direct' } }, { exposure: { far: 'direct' } })).toEqual(['far', 'near', 'own']);
});
