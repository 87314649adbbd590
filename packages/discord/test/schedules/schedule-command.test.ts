// /schedule: who may add and remove schedules, and which times it accepts.
import { expect, test } from 'vitest';
import { startBot } from '../support/start-bot.ts';

const daily = { prompt: 'summarize #general', every: 'day' };

async function startWithSchedules() {
  const started = await startBot();
  const { discord } = started;
  const use = async (name: string, options: Record<string, string>, who = 'admin') => {
    const reply = await discord.user(who).command(`schedule ${name}`, { channel: 'general', options }).reply();
    return reply.content;
  };
  return { ...started, use };
}

test('a schedule is shown with its time, place and author, until it is removed', async () => {
  const { discord, use } = await startWithSchedules();
  const added = await use('add', {
    ...daily,
    every: 'Monday',
    at: '08:30',
    timezone: 'Europe/Berlin',
    channel: 'random',
  });
  const [, id = ''] = /`([0-9a-f]{8})`/.exec(added) ?? [];
  const { id: random } = discord.channel('random');
  expect(added).toContain(
    `every Monday at 08:30 (Europe/Berlin) in <#${random}> by ${discord.user('admin').mention}, next <t:`,
  );
  const [, next = ''] = /<t:(\d+):f>/.exec(added) ?? [];
  const shown = new Date(Number(next) * 1_000).toLocaleString('en-GB', {
    timeZone: 'Europe/Berlin',
    weekday: 'long',
    hour: '2-digit',
    minute: '2-digit',
  });
  expect(shown).toBe('Monday 08:30');
  expect(await use('list', {})).toContain(`\`${id}\``);
  const completing = discord
    .user('admin')
    .complete('schedule remove', { channel: 'general', options: { id: 'sum' }, focused: 'id' });
  expect(await completing.choices()).toEqual([{ name: `${id} summarize #general`, value: id }]);
  expect(await use('remove', { id })).toContain('Removed:');
  expect(await use('list', {})).toBe('There are no schedules here. `/schedule add` adds one.');
  expect(await use('remove', { id })).toBe(`There is no schedule \`${id}\` here.`);
});

test.each([
  [{ every: 'hour', at: '00:15' }, 'every hour at minute 15'],
  [{ every: 'weekday' }, 'every weekday at 09:00 (UTC)'],
  [{ every: 'month', at: '7:05' }, 'every first day of the month at 07:05 (UTC)'],
  [{ cron: '5  4 * * sun', timezone: 'asia/tokyo' }, 'at `5 4 * * sun` (Asia/Tokyo)'],
])('times %j are understood', async (times, text) => {
  const { use } = await startWithSchedules();
  expect(await use('add', { prompt: 'hello', ...times })).toContain(text);
});

test.each([
  [{}, 'Choose when'],
  [{ every: 'day', at: '24:00' }, 'Write the time like 09:00'],
  [{ every: 'day', cron: '0 9 * * *' }, 'Use `cron` alone'],
  [{ cron: '* * * * *' }, 'at most once an hour'],
  [{ cron: '0 0 31 2 *' }, 'These times cannot be used'],
  [{ every: 'day', timezone: 'Mars/Base' }, '`Mars/Base` is not a time zone'],
])('times %j are refused with the reason', async (times, reason) => {
  const { use } = await startWithSchedules();
  expect(await use('add', { prompt: 'hello', ...times })).toContain(reason);
  expect(await use('list', {})).toContain('There are no schedules here.');
});

test('members need the permission to manage messages, and to write in the channel; so does the bot', async () => {
  const { discord, use } = await startWithSchedules();
  await expect(use('add', daily, 'ann')).rejects.toThrow('ann is not offered the command "schedule"');
  discord.stage.addChannel(discord.guild(), { name: 'news', deny: { everyone: ['SendMessages'] } });
  const { id: news } = discord.channel('news');
  expect(await use('add', { ...daily, channel: 'news' })).toBe(`I am not allowed to send messages in <#${news}>.`);
  await discord
    .user('admin')
    .command('setup channel', { channel: 'general', options: { channel: 'general' } })
    .reply();
  const { id: random } = discord.channel('random');
  expect(await use('add', { ...daily, channel: 'random' })).toBe(`I do not answer you in <#${random}>.`);
  expect(await use('list', {})).toContain('There are no schedules here.');
});

test('in direct messages everyone has schedules of their own', async () => {
  const { discord } = await startWithSchedules();
  const [ann, bob] = [discord.user('ann'), discord.user('bob')];
  const added = await ann.command('schedule add', { channel: ann.dm, options: daily }).reply();
  const [, id = ''] = /`([0-9a-f]{8})`/.exec(added.content) ?? [];
  const list = async (who: typeof ann) => (await who.command('schedule list', { channel: who.dm }).reply()).content;
  expect(await list(ann)).toContain('every day at 09:00 (UTC), next');
  expect(await list(bob)).toContain('There are no schedules here.');
  const removed = await bob.command('schedule remove', { channel: bob.dm, options: { id } }).reply();
  expect(removed.content).toBe(`There is no schedule \`${id}\` here.`);
});

test('a place has 25 schedules at most, and a deleted channel none', async () => {
  const { discord, use } = await startWithSchedules();
  for (let count = 0; count < 25; count++) await use('add', { ...daily, channel: 'random' });
  expect(await use('add', daily)).toContain('There are 25 schedules here already.');
  discord.stage.removeChannel(discord.channel('random'));
  await expect.poll(() => use('list', {})).toContain('There are no schedules here.');
});
