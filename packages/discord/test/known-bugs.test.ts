// What bots of this kind are known to get wrong.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tool } from 'pocket-agent';
import { scriptedServer } from 'pocket-agent/testing';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Servers } from '../src/toolbox/servers.ts';
import { answers, lastText, PacedModel, quiet, startBot, temporaryFolder } from './start-bot.ts';

/** Calls the tool once, then tells what it returned. */
const calling = (name: string, args: Record<string, unknown> = {}) =>
  answers((options) =>
    options.prompt.at(-1)?.role === 'user'
      ? { toolCalls: [{ name, arguments: args }] }
      : `done: ${lastText(options, 'tool')}`,
  );

test('a system prompt with braces reaches the model as it is', async () => {
  const systemPrompt = 'Answer in {language} as {"a": {{b}}} or %s.';
  const model = answers(() => 'ok');
  const { discord } = await startBot({ model, systemPrompt });
  const ann = discord.user('ann');
  ann.say(ann.dm, 'hello');
  await discord.waitForBotMessage(ann.dm);
  expect(model.calls[0]?.prompt[0]?.content).toContain(systemPrompt);
});

test('edited code of a tool is used without a restart', async () => {
  const root = await temporaryFolder();
  await mkdir(join(root, 'news'));
  const write = (text: string) =>
    writeFile(join(root, 'news', 'tool.mjs'), `export class Tools { async tool_news() { return '${text}'; } }\n`);
  await writeFile(
    join(root, 'news', 'manifest.yaml'),
    'tool_human_name: News\ntool_list:\n  - { name: news, description: News, capability: read }\n',
  );
  await write('first edition');
  const { discord } = await startBot({ model: calling('news'), toolDirectories: [root] });
  const ann = discord.user('ann');
  let asked = 0;
  const news = async () => {
    ann.say(ann.dm, 'what is new?');
    asked++;
    const answer = await discord.waitFor(() => discord.botMessages(ann.dm)[asked - 1]);
    await discord.waitFor(() => answer.content.includes('done:'));
    return answer.content;
  };
  expect(await news()).toContain('first edition');
  await write('second edition');
  await expect.poll(news, { timeout: 5_000 }).toContain('second edition');
});

test('long direct messages come in pieces that Discord takes, as answers and from the tool', async () => {
  const text = 'word '.repeat(900).trim();
  const model = answers((options) => {
    if (options.prompt.at(-1)?.role === 'tool') return 'sent';
    if (lastText(options, 'user').includes('answer')) return text;
    return { toolCalls: [{ name: 'send_user_dm_message', arguments: { message: text } }] };
  });
  const { discord } = await startBot({ model });
  const [ann, bob] = [discord.user('ann'), discord.user('bob')];
  ann.say(ann.dm, 'answer me');
  bob.say('general', `${discord.bot.mention} write to me`);
  const asked = await discord.waitForBotMessage('general', ({ content }) => content.includes('may I use'));
  bob.click(asked, 'Allow');
  for (const { dm } of [ann, bob]) {
    const said = () => discord.botMessages(dm).map(({ content }) => content);
    await discord.waitFor(() => said().join(' ').split('word').length === 901);
    expect(said().length).toBe(3);
    expect(said().every(({ length }) => length <= 2_000)).toBe(true);
  }
});

test('typing is shown again before Discord forgets it, and no longer than the answer takes', async () => {
  const model = new PacedModel();
  const { discord } = await startBot({ model });
  const ann = discord.user('ann');
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  ann.say(ann.dm, 'think long');
  await model.called(1);
  await discord.waitFor(() => discord.typing.length === 1);
  for (const count of [2, 3]) {
    vi.advanceTimersByTime(8_500);
    await discord.waitFor(() => discord.typing.length === count);
  }
  model.say('ok');
  model.end();
  await discord.waitForBotMessage(ann.dm, ({ components }) => JSON.stringify(components).includes('Regenerate'));
  vi.advanceTimersByTime(60_000);
  ann.say(ann.dm, 'and now?');
  await model.called(2);
  await discord.waitFor(() => discord.typing.length === 4);
  model.end(1);
});

test('an MCP server that never answers a call costs the answer a sentence, not the answer', async () => {
  const never = tool({
    name: 'never',
    description: 'Never ends',
    annotations: { readOnlyHint: true },
    run: () => new Promise<string>(() => {}),
  });
  const { discord } = await startBot({
    model: calling('slow_never'),
    mcpServers: { slow: { server: await scriptedServer([never]), timeoutMs: 100 } },
  });
  const ann = discord.user('ann');
  ann.say(ann.dm, 'go');
  await discord.waitForBotMessage(ann.dm, ({ content }) => content.includes('gave no sign of life for 100 ms'));
});

test('the connection to an MCP server is kept between questions, and closed when nobody has asked for long', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const hello = tool({ name: 'hello', description: 'Hello', run: () => 'hello' });
  const servers = new Servers({ own: { a: { server: await scriptedServer([hello]) } }, hosts: [], logger: quiet });
  onTestFinished(() => servers.close());
  const lease = (place: string) => servers.lease({ place, ids: ['mcp:a'], guild: {} });
  const first = lease('one');
  expect(await first?.client.listTools()).toHaveLength(1);
  first?.release();
  vi.advanceTimersByTime(500_000);
  const second = lease('one');
  expect(second?.client).toBe(first?.client);
  expect(lease('two')?.client).not.toBe(first?.client);
  vi.advanceTimersByTime(500_000);
  expect(await second?.client.listTools()).toHaveLength(1); // in use all the time
  second?.release();
  vi.advanceTimersByTime(600_001);
  await expect(first?.client.listTools()).rejects.toThrow('closed');
  expect(lease('one')?.client).not.toBe(first?.client);
});
