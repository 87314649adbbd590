// Answers with tool calls: the prompt of each model call, and the results of failed calls.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { tool } from 'pocket-agent';
import { scriptedServer } from 'pocket-agent/testing';
import { expect, test } from 'vitest';
import { answers, calls, quiet, results, startBot, temporaryFolder } from '../support/start-bot.ts';

const annotations = { readOnlyHint: true };
const isDone = ({ content }: { content: string }) => content.includes('done:');

async function writeTool(root: string, { folder, code }: { folder: string; code: string }): Promise<void> {
  await mkdir(join(root, folder));
  const list = 'tool_list:\n  - { name: go, description: Goes, capability: read }\n';
  await writeFile(join(root, folder, 'manifest.yaml'), `tool_human_name: ${folder}\n${list}`);
  await writeFile(join(root, folder, 'tool.mjs'), code);
}

/** The ids of calls and of results, in order. */
function pairsOf({ prompt }: Pick<LanguageModelV4CallOptions, 'prompt'>) {
  const parts = prompt.flatMap(({ role, content }) => (role === 'assistant' || role === 'tool' ? [...content] : []));
  return {
    called: parts.flatMap((part) => (part.type === 'tool-call' ? part.toolCallId : [])),
    answered: parts.flatMap((part) => (part.type === 'tool-result' ? part.toolCallId : [])),
  };
}

test('the options of a model are sent with every call, also after tools, in commands and in message apps', async () => {
  const completionOptions = {
    temperature: 0.2,
    maxOutputTokens: 700,
    providerOptions: { maker: { effort: 'low' } },
  };
  const model = calls({ name: 'get_user_info' });
  const { discord } = await startBot({ models: [{ name: 'test', model, completionOptions }] });
  const ann = discord.user('ann');
  const question = ann.say('general', `${discord.bot.mention} who am I?`);
  await discord.waitForBotMessage('general', isDone);
  expect(model.calls).toHaveLength(2);
  await ann.command('summarize', { channel: 'general' }).reply();
  await ann.messageCommand('Explain this message', question).reply();
  expect(model.calls).toHaveLength(4);
  for (const call of model.calls) expect(call).toMatchObject(completionOptions);
});

test('unknown tool names and invalid JSON are reported to the model, which continues', async () => {
  const model = calls(
    { name: 'no_such_tool' },
    { name: 'fetch_date_time', arguments: '{"timezone": ' },
    { name: 'get_user_info' },
  );
  const { discord } = await startBot({ model });
  const ann = discord.user('ann');
  ann.say(ann.dm, 'go');
  await discord.waitForBotMessage(ann.dm, isDone);
  const { called, answered } = pairsOf({ prompt: model.calls[1]?.prompt ?? [] });
  expect(called).toHaveLength(3);
  expect(answered).toEqual(called);
  const result = results({ prompt: model.calls[1]?.prompt ?? [] });
  expect(result).toContain('no_such_tool');
  expect(result).toContain('JSON');
  expect(result).toContain(ann.id);
});

test('several tool calls run in parallel, and one more model call gets all results', async () => {
  const met = Promise.withResolvers<void>();
  let there = 0;
  const meet = (name: string) =>
    tool({
      name,
      description: 'Waits for the other',
      annotations,
      run: async () => {
        if (++there === 2) met.resolve();
        await met.promise;
        return `${name} was there`;
      },
    });
  const model = calls({ name: 'a_one' }, { name: 'a_two' });
  const { discord } = await startBot({
    model,
    mcpServers: { a: { server: await scriptedServer([meet('one'), meet('two')]) } },
  });
  const ann = discord.user('ann');
  ann.say(ann.dm, 'meet');
  const { content } = await discord.waitForBotMessage(ann.dm, isDone);
  expect(content.match(/was there/g)).toHaveLength(2);
  expect(model.calls).toHaveLength(2);
  expect(model.calls[1]?.prompt.filter(({ role }) => role === 'assistant')).toHaveLength(1);
  const { called, answered } = pairsOf({ prompt: model.calls[1]?.prompt ?? [] });
  expect(called).toHaveLength(2);
  expect(answered).toEqual(called);
});

test('an answer stopped during tool calls leaves a valid history', async () => {
  const quick = tool({ name: 'quick', description: 'Quick', annotations, run: () => 'here' });
  const never = tool({ name: 'never', description: 'Never', annotations, run: () => new Promise<string>(() => {}) });
  const model = answers(({ prompt }) =>
    JSON.stringify(prompt).includes('and now') ? 'ok' : { toolCalls: [{ name: 'a_quick' }, { name: 'a_never' }] },
  );
  const { discord } = await startBot({
    model,
    mcpServers: { a: { server: await scriptedServer([quick, never]) } },
  });
  const ann = discord.user('ann');
  ann.say(ann.dm, 'go');
  const growing = await discord.waitForBotMessage(ann.dm, ({ content }) => /Using `a_never` …$/.test(content));
  ann.click(growing, 'Stop');
  await discord.waitFor(() => growing.content.includes('Stopped.'));
  ann.say(ann.dm, 'and now?');
  await discord.waitForBotMessage(ann.dm, ({ content }) => content === 'ok');
  const { called, answered } = pairsOf({ prompt: model.calls[1]?.prompt ?? [] });
  expect(called).toHaveLength(2);
  expect(answered).toEqual(called);
});

test('dropped turns are dropped together with their tool results', async () => {
  const long = tool({ name: 'long', description: 'Long', annotations, run: () => 'x'.repeat(1_000) });
  const model = answers(({ prompt }) =>
    prompt.at(-1)?.role === 'user' ? { toolCalls: [{ name: 'a_long' }, { name: 'a_long' }] } : 'ok',
  );
  const { discord } = await startBot({
    models: [{ name: 'small', model, contextTokens: 2_600 }],
    mcpServers: { a: { server: await scriptedServer([long]) } },
  });
  const ann = discord.user('ann');
  for (let count = 1; count <= 5; count++) {
    ann.say(ann.dm, `question ${count}`);
    await discord.waitFor(() =>
      discord
        .botMessages(ann.dm)
        .at(count - 1)
        ?.content.startsWith('ok'),
    );
  }
  for (const call of model.calls.filter(({ prompt }) => prompt.at(-1)?.role === 'tool')) {
    const { called, answered } = pairsOf(call);
    expect(answered).toEqual(called);
    const roles = call.prompt.map(({ role }) => role).join(' ');
    expect(roles).toMatch(/^system( user assistant( tool)+ assistant)* user assistant( tool)+$/);
  }
  const last = JSON.stringify(model.calls.at(-1)?.prompt);
  expect(last).toContain('question 4');
  expect(last).not.toContain('question 1');
});

test('tools with equal names or names that providers refuse can all be called', async () => {
  const root = await temporaryFolder();
  for (const folder of ['first', 'second'])
    await writeTool(root, { folder, code: `export class Tools { async tool_go() { return '${folder} went'; } }\n` });
  const odd = ['get.news', 'get_news'].map((name) =>
    tool({ name, description: 'News', annotations, run: () => `from ${name}` }),
  );
  const model = answers(({ prompt, tools = [] }) => {
    if (prompt.at(-1)?.role === 'tool') return `done: ${results({ prompt })}`;
    return { toolCalls: tools.flatMap(({ name }) => (/go|news/.test(name) ? { name } : [])) };
  });
  const { discord } = await startBot({
    model,
    toolDirectories: [root],
    mcpServers: { 'my server!': { server: await scriptedServer(odd) } },
  });
  const ann = discord.user('ann');
  ann.say(ann.dm, 'all of them');
  await discord.waitForBotMessage(ann.dm, isDone);
  const names = model.calls[0]?.tools?.map(({ name }) => name) ?? [];
  expect(new Set(names).size).toBe(names.length);
  for (const name of names) expect(name).toMatch(/^[\w-]{1,64}$/);
  const result = results({ prompt: model.calls[1]?.prompt ?? [] });
  for (const said of ['first went', 'second went', 'from get.news', 'from get_news']) expect(result).toContain(said);
});

test('a folder whose code does not load is logged, and other tools still work', async () => {
  const root = await temporaryFolder();
  await writeTool(root, { folder: 'falls', code: "throw new Error('no such driver');\n" });
  await writeTool(root, { folder: 'empty', code: 'export class Tools {}\n' });
  await writeTool(root, { folder: 'works', code: "export class Tools { async tool_go() { return 'went'; } }\n" });
  const logged: unknown[] = [];
  const log = (...line: unknown[]) => void logged.push(line);
  const model = calls({ name: 'go' });
  const { discord } = await startBot({
    model,
    toolDirectories: [root],
    logger: { ...quiet, info: log, warn: log, error: log },
  });
  const ann = discord.user('ann');
  ann.say(ann.dm, 'go');
  const { content } = await discord.waitForBotMessage(ann.dm, isDone);
  expect(content).toContain('went');
  expect(model.calls[0]?.tools?.filter(({ name }) => name.startsWith('go'))).toHaveLength(1);
  expect(JSON.stringify(logged)).toContain('no such driver');
  expect(JSON.stringify(logged)).toContain('tool_go');
});

test('a tool that two users call at the same time gets the right user for each call', async () => {
  const root = await temporaryFolder();
  const code = `
    const met = Promise.withResolvers();
    let there = 0;
    export class Tools {
      constructor(context) { this.context = context; }
      async tool_go() {
        if (++there === 2) met.resolve();
        await met.promise;
        return 'for ' + this.context.discord.user.username;
      }
    }`;
  await writeTool(root, { folder: 'meeting', code });
  const { discord } = await startBot({ model: calls({ name: 'go' }), toolDirectories: [root] });
  const people = [discord.user('ann'), discord.user('bob')];
  for (const person of people) person.say(person.dm, 'go');
  for (const { dm, user } of people)
    expect((await discord.waitForBotMessage(dm, isDone)).content).toContain(`for ${user.username}`);
});
