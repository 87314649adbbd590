// Many functions: the model finds them, with their types, by find_tools.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadToolFolder } from '@pocket-agent/tool-folder';
import { PocketAgent, tool } from 'pocket-agent';
import { ScriptedModel, scriptedServer } from 'pocket-agent/testing';
import { expect, onTestFinished, test } from 'vitest';
import { resultText, silent } from '../../pocket-agent/test/helpers.ts';
import { codeMode } from '../src/index.ts';

const things = ['photo', 'song', 'invoice', 'ticket', 'user', 'order', 'page', 'file', 'note', 'event'];
const make = (action: string, thing: string) =>
  tool({
    name: `${action}_${thing}`,
    description: `${action} a ${thing}. ${'More about it. '.repeat(20)}`,
    inputSchema: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
    capability: action === 'delete' ? 'delete' : 'read',
    run: ({ id }) => ({ [thing]: id }),
  });
const tools = ['read', 'list', 'delete', 'count', 'share'].flatMap((action) =>
  things.map((thing) => make(action, thing)),
);

async function agentWith(script: ConstructorParameters<typeof ScriptedModel>[0], options: object = {}) {
  const model = new ScriptedModel(script);
  const mcpServers = { media: { server: await scriptedServer(tools), exposure: 'code' as const } };
  const agent = new PocketAgent({ llmModel: model, mcpServers, tools: [codeMode()], logger: silent, ...options });
  return { agent, model };
}

const find = (query: string) => ({ toolCalls: [{ name: 'find_tools', arguments: { query, limit: 2 } }] });
const code = (text: string) => ({ toolCalls: [{ name: 'run_code', arguments: { code: text } }] });

test('find_tools returns the types of functions, and code calls them', async () => {
  const { agent, model } = await agentWith([find('read a song'), code('return media.read_song({ id: "7" })'), 'Done.']);
  await agent.run('Go');
  expect(resultText(agent)).toMatch(
    /^- read_song \(media, read\): .*\n {2}\/\/ read a song\..*\n {2}media\.read_song\(args: \{ id: string \}\): Promise<unknown>$/m,
  );
  expect(resultText(agent, 1)).toBe('{"song":"7"}');
  expect(model.calls.map((call) => call.tools?.map(({ name }) => name).sort())).toEqual(
    Array(3).fill(['find_tools', 'run_code']),
  );
  const [shown] = model.calls[0]?.tools?.filter(({ name }) => name === 'run_code') ?? [];
  expect(shown).toMatchObject({ description: expect.stringContaining('There are 50 functions of media. find_tools') });
  await agent.close();
});

test('what a profile refuses is neither found nor a function', async () => {
  const script = [
    find('delete a song'),
    code('return Object.keys(media).filter((name) => name.includes("delete"))'),
    'Done.',
  ];
  const { agent } = await agentWith(script, { access: { profile: 'reader' } });
  await agent.run('Go');
  expect(resultText(agent)).not.toContain('delete_');
  expect(resultText(agent, 1)).toBe('[]');
  await agent.close();
});

test('patterns and profiles choose the tools for code', async () => {
  const keys = code('return Object.keys(media).length');
  const exposure = { 'read_*': 'direct', 'share_*': 'hidden' };
  const { agent, model } = await agentWith([keys, 'Done.', keys, 'Done.'], { exposure });
  await agent.run('Go');
  const shown = (index: number) => model.calls[index]?.tools?.map(({ name }) => name).sort();
  expect(shown(0)).toEqual([...things.map((thing) => `read_${thing}`).sort(), 'run_code']);
  expect(resultText(agent)).toBe('40');
  await agent.run('Go', { profile: { capabilities: ['read'], exposure: { read_song: 'direct', '*': 'code' } } });
  expect(shown(2)).toEqual(['find_tools', 'read_song', 'run_code']);
  expect(resultText(agent, 1)).toBe('40');
  await agent.close();
});

test('the demo model finds functions and calls them in code', async () => {
  const { agent } = await agentWith([], { llmModel: 'demo' });
  expect(await agent.run('Read a song with id "9"')).toContain('song: 9');
  expect(JSON.stringify(agent.messages)).toContain('await media.read_song({');
  await agent.close();
});

test('the manifest of a tool folder says that its tools are for code', async () => {
  const folder = join(mkdtempSync(join(tmpdir(), 'code-mode-')), 'weather');
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(folder);
  const tools = '{ name: get_weather, description: Returns the weather., capability: read, parameters: {} }';
  writeFileSync(join(folder, 'manifest.yaml'), `tool_human_name: Weather\nexposure: code\ntool_list: [${tools}]\n`);
  writeFileSync(join(folder, 'tool.ts'), 'export class Tools { get_weather() { return "rain"; } }');
  const llmModel = new ScriptedModel([code('return weather.get_weather()'), 'Done.']);
  const agent = new PocketAgent({
    llmModel,
    tools: [loadToolFolder(folder, { logger: silent }), codeMode()],
    logger: silent,
  });
  await agent.run('Go');
  expect(llmModel.calls[0]?.tools?.map(({ name }) => name)).toEqual(['run_code']);
  expect(resultText(agent)).toBe('rain');
  await agent.close();
});
