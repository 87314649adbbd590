// Takeover of conversations from processes that ended or stalled for longer than their lease.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { tool } from 'pocket-agent';
import { scriptedServer } from 'pocket-agent/testing';
import { expect, onTestFinished, test } from 'vitest';
import { openBotStore } from '../../src/store/schema.ts';
import { answers, PacedModel, type Setup, startBot, temporaryFolder } from '../support/start-bot.ts';
import { storedMessages } from '../support/stored-conversations.ts';

/** A bot, and a second connection to its database as another process. */
async function startWithRival(setup: Setup) {
  const database = { file: join(await temporaryFolder(), 'bot.db') };
  const started = await startBot({ ...setup, database });
  const { db, close } = await openBotStore(database);
  onTestFinished(close);
  const rival = { id: 'rival', host: 'elsewhere', pid: 1, seen_at: Date.now() + 3_600_000 };
  return {
    ...started,
    takeAll: async () => {
      await db.insertInto('discord_processes').values(rival).execute();
      await db.updateTable('discord_conversations').set({ owner: rival.id }).execute();
    },
    /** Registers a process id that no longer exists. */
    crash: async () => {
      const child = spawn(process.execPath, ['--version'], { stdio: 'ignore' });
      await once(child, 'exit');
      const { host } = await db
        .selectFrom('discord_processes')
        .select('host')
        .where('id', '!=', rival.id)
        .executeTakeFirstOrThrow();
      await db
        .updateTable('discord_processes')
        .set({ host, pid: child.pid ?? 0 })
        .where('id', '=', rival.id)
        .execute();
    },
    die: () => db.deleteFrom('discord_processes').where('id', '=', rival.id).execute(),
    states: async () => (await db.selectFrom('discord_claims').select('state').execute()).map(({ state }) => state),
    roles: async () => (await storedMessages(database)).map(({ role }) => role),
  };
}

test('an answer that another process took over is abandoned, and resumed when that process is gone', async () => {
  const model = new PacedModel();
  const { discord, takeAll, die, states, roles } = await startWithRival({ model, leaseMs: 300 });
  const ann = discord.user('ann');
  ann.say(ann.dm, 'question');
  await model.called(1);
  model.say('half');
  const message = await discord.waitForBotMessage(ann.dm, ({ content }) => content.startsWith('half'));
  await takeAll();
  await expect.poll(() => model.aborted).toBe(1);
  expect(await states()).toEqual(['running']);
  expect(await roles()).toEqual(['user']);
  expect(message.content).toBe('half\n\n-# …');
  await die();
  await model.called(2);
  model.say('whole', 1);
  model.end(1);
  await discord.waitFor(() => message.content === 'whole');
  expect(discord.botMessages(ann.dm)).toHaveLength(1);
  await expect.poll(states).toEqual(['done']);
});

const warnings = () => {
  const warned: string[] = [];
  return { warned, logger: { debug() {}, info() {}, error() {}, warn: (text: string) => void warned.push(text) } };
};

test('after a takeover the old process calls no tools and stores and shows nothing', async () => {
  const asked = Promise.withResolvers<void>();
  const taken = Promise.withResolvers<void>();
  let marks = 0;
  const annotations = { readOnlyHint: true };
  const mark = tool({ name: 'mark', description: 'Marks', annotations, run: () => `mark ${++marks}` });
  const slow = tool({
    name: 'slow',
    description: 'Takes its time',
    annotations,
    run: async () => {
      asked.resolve();
      await taken.promise;
      return 'done';
    },
  });
  const model = answers(({ prompt }) =>
    prompt.at(-1)?.role === 'tool'
      ? { text: 'I go on.', toolCalls: [{ name: 'a_mark' }] }
      : { text: 'I begin.', toolCalls: [{ name: 'a_slow' }] },
  );
  const mcpServers = { a: { server: await scriptedServer([mark, slow]) } };
  const { warned, logger } = warnings();
  const { discord, takeAll, states, roles } = await startWithRival({ model, mcpServers, logger });
  const ann = discord.user('ann');
  ann.say(ann.dm, 'question');
  await asked.promise;
  await takeAll();
  taken.resolve();
  await expect.poll(() => warned).toContain('Another process took over an answer');
  expect(marks).toBe(0);
  expect(await states()).toEqual(['acting']);
  expect(await roles()).toEqual(['user', 'assistant']);
  expect(discord.botMessages(ann.dm).some(({ content }) => content.includes('went wrong'))).toBe(false);
});

test('a call that is approved after a takeover is not made', async () => {
  const model = answers(() => ({
    toolCalls: [{ name: 'send_user_dm_message', arguments: { message: 'psst' } }],
  }));
  const { warned, logger } = warnings();
  const { discord, takeAll } = await startWithRival({ model, logger });
  const ann = discord.user('ann');
  ann.say('general', `${discord.bot.mention} write to me`);
  const question = await discord.waitForBotMessage('general', ({ content }) => content.includes('may I use'));
  await takeAll();
  ann.click(question, 'Allow');
  await expect.poll(() => warned).toContain('Another process took over an answer');
  expect(discord.botMessages(ann.dm)).toEqual([]);
});

test('a process killed on the same machine is noticed before its lease ends', async () => {
  const model = answers(() => 'ok');
  const { discord, takeAll, crash, states } = await startWithRival({ model });
  const ann = discord.user('ann');
  ann.say(ann.dm, 'one');
  await expect.poll(states).toEqual(['done']);
  await takeAll();
  ann.say(ann.dm, 'two');
  await expect.poll(states).toEqual(['done', 'queued']);
  await crash();
  await discord.waitFor(() => discord.botMessages(ann.dm).length === 2);
});
