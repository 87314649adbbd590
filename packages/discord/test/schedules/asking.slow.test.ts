// Schedules whose time has come: the bot asks once, on behalf of the author, whatever happened before.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeDue, repeatRuns } from '../support/due-schedules.ts';
import { answers, lastText, runBot, startBot, temporaryFolder } from '../support/start-bot.ts';

async function startWithSchedule(prompt = 'what is new?') {
  const database = { file: join(await temporaryFolder(), 'bot.db') };
  const model = answers((options) => `news of ${/<from name=\\"(\w+)/.exec(lastText(options, 'user'))?.[1]}`);
  const world = {
    guilds: [
      { roles: [{ name: 'Clerks', permissions: ['ManageMessages' as const] }], members: { ann: ['Clerks'], bob: [] } },
    ],
  };
  const started = await startBot({ database, model, world });
  const { discord } = started;
  const ann = discord.user('ann');
  await ann
    .command('schedule add', { channel: 'general', options: { prompt, every: 'day', channel: 'random' } })
    .reply();
  const asked = (count: number) =>
    discord.waitFor(() => discord.botMessages('random').length === count && discord.botMessages('random'), {
      what: `${count} scheduled answers`,
    });
  return { ...started, database, model, ann, asked };
}

test('at its time the bot answers in the channel, once, and its author can regenerate it', async () => {
  const { discord, database, ann, asked, model } = await startWithSchedule();
  await makeDue(database);
  const [message] = await asked(1);
  await discord.waitFor(() => message?.content.endsWith('news of ann'));
  expect(message?.content).toBe(`-# Scheduled by ${ann.mention}\n> what is new?\nnews of ann`);
  expect(message?.pinged.users).toEqual([]);
  ann.say('random', `${discord.bot.mention} and else?`);
  await asked(2);
  // a reply sees the scheduled answer: they share the conversation of the channel
  await expect.poll(() => JSON.stringify(model.calls.at(-1)?.prompt)).toContain('what is new?');
  await repeatRuns(database);
  await makeDue(database);
  await asked(3);
  expect(discord.botMessages('random').filter(({ content }) => content.includes('Scheduled by'))).toHaveLength(2);
});

test('scheduled questions do not use up the questions of their author', async () => {
  const { discord, database, ann, asked, bot, options } = await startWithSchedule();
  await bot.close();
  await runBot({ ...options, limits: { perUserPerMinute: 1 } });
  await makeDue(database);
  await asked(1);
  ann.say('general', `${discord.bot.mention} hello`);
  await discord.waitForBotMessage('general', ({ content }) => content.includes('news of ann'));
});

test('times that passed while the bot was off are asked once, after its start', async () => {
  const { database, bot, options, asked, discord } = await startWithSchedule();
  await bot.close();
  await makeDue(database, 3 * 24 * 3_600_000);
  await runBot(options);
  const [message] = await asked(1);
  await discord.waitFor(() => message?.content.endsWith('news of ann'));
  expect(discord.botMessages('random')).toHaveLength(1);
});

test('nothing is asked for authors who may no longer write there, and the schedule of one who left is removed', async () => {
  const lines: string[] = [];
  const log = (message: string) => void lines.push(message);
  const { discord, database, ann, bot, options, model } = await startWithSchedule();
  await bot.close();
  await runBot({ ...options, logger: { debug() {}, info: log, warn: log, error: log } });
  const owner = discord.user('owner');
  const setup = (name: string, options: Record<string, string | boolean>) =>
    owner.command(`setup ${name}`, { channel: 'general', options }).reply();
  await setup('channel', { channel: 'general' });
  await makeDue(database);
  await expect.poll(() => lines.join('\n')).toContain('A scheduled prompt was skipped');
  await setup('channel', { channel: 'general', remove: true });
  discord.stage.removeMember(discord.guild(), ann);
  await makeDue(database);
  const list = async () => (await owner.command('schedule list', { channel: 'general' }).reply()).content;
  await expect.poll(list).toContain('There are no schedules here.');
  expect(model.calls).toEqual([]);
  expect(discord.botMessages('random')).toEqual([]);
});

test('when the bot leaves a server, its schedules go', async () => {
  const { discord, bot, options, model, database } = await startWithSchedule();
  await bot.close();
  discord.stage.removeGuild(discord.guild());
  await makeDue(database);
  await runBot(options);
  const { execute } = await import('../support/old-database.ts');
  await expect.poll(() => execute(database, 'select name from pocket_run_schedules')).toEqual([]);
  expect(model.calls).toEqual([]);
});
