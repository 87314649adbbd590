// /usage and /skills.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inflateSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { execute } from '../support/old-database.ts';
import { answers, startBot, temporaryFolder } from '../support/start-bot.ts';

const BLUE = 1;

/** The height of the bar at each column, read from the pixels as a viewer would. */
function barHeights(png: Buffer): number[] {
  const parts = new Map<string, Buffer>();
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    parts.set(png.toString('latin1', at + 4, at + 8), png.subarray(at + 8, at + 8 + length));
    at += length + 12;
  }
  const header = parts.get('IHDR') ?? Buffer.alloc(8);
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  const rows = inflateSync(parts.get('IDAT') ?? Buffer.alloc(0));
  expect(rows.length).toBe((width + 1) * height);
  return Array.from(
    { length: width },
    (_, x) =>
      Array.from({ length: height }, (_row, y) => rows[y * (width + 1) + 1 + x]).filter((pixel) => pixel === BLUE)
        .length,
  );
}

function dayBefore(days: number): string {
  return new Date(Date.now() - days * 24 * 3_600_000).toISOString().slice(0, 10);
}

test('/usage shows a bar for each day, for oneself and for the server, only to the person who asks', async () => {
  const database = { file: join(await temporaryFolder(), 'bot.db') };
  const model = answers(() => ({ text: 'ok', usage: { input: 1_000_000, output: 0 } }));
  const { discord } = await startBot({ database, model, prices: { script: { input: 1, output: 1 } } });
  const [ann, bob] = [discord.user('ann'), discord.user('bob')];
  for (const who of [ann, bob]) {
    who.say('general', `${discord.bot.mention} hello`);
    await discord.waitFor(
      () => discord.botMessages('general').filter(({ content }) => content === 'ok').length === (who === ann ? 1 : 2),
    );
  }
  await execute(database, `insert into discord_spending values ('${dayBefore(3)}', 'user:${ann.id}', 0.5, 700, 4)`);
  const own = await ann.command('usage', { channel: 'general', options: { days: 4 } }).reply();
  expect(own).toMatchObject({ onlyFor: ann.id });
  expect(own.content).toContain('**You**, last 4 days (UTC): $1.5000, 1000700 tokens, 5 answers');
  const [chart] = own.files;
  expect(chart).toMatchObject({ name: 'usage.png', contentType: expect.stringContaining('image/png') });
  expect(chart?.description).toBe(`${dayBefore(3)}: $0.5000, 700 tokens; ${dayBefore(0)}: $1.0000, 1000000 tokens`);
  const heights = barHeights(chart?.bytes ?? Buffer.alloc(0));
  const bars = [...new Set(heights)].sort((one, other) => one - other);
  const [none = -1, small = -1, large = -1] = bars;
  expect(bars).toHaveLength(3); // no bar, and two bars
  expect([none, small, large]).toEqual([0, 116, 232]); // a dollar fills the chart
  expect(heights.indexOf(small)).toBeLessThan(heights.indexOf(large));
  const server = await bob.command('usage', { channel: 'general', options: { of: 'server' } }).reply();
  expect(server.content).toContain('**This server**, last 14 days (UTC): $2.0000, 2000000 tokens, 2 answers');
});

test('/usage shows tokens where prices are unknown, and no chart where nothing was used', async () => {
  const { discord } = await startBot();
  const [ann, bob] = [discord.user('ann'), discord.user('bob')];
  ann.say(ann.dm, 'hello');
  await discord.waitForBotMessage(ann.dm, ({ content }) => content === 'ok');
  const own = await ann.command('usage', { channel: ann.dm }).reply();
  expect(own.content).toContain('The bars are tokens per day.');
  expect(Math.max(...barHeights(own.files[0]?.bytes ?? Buffer.alloc(0)))).toBeGreaterThan(50);
  const unused = await bob.command('usage', { channel: bob.dm }).reply();
  expect([unused.content, unused.files]).toEqual(['**You**, last 14 days (UTC): $0.0000, 0 tokens, 0 answers', []]);
  const none = await ann.command('usage', { channel: ann.dm, options: { of: 'server' } }).reply();
  expect(none.content).toContain('There is no server here.');
});

test('/skills shows the skills of the tool folders, and whether they are on', async () => {
  const tools = await temporaryFolder();
  await mkdir(join(tools, 'letters'));
  const skill = '---\nname: letters\ndescription: How we write letters\n---\nBe kind.\n';
  await writeFile(join(tools, 'letters', 'SKILL.md'), skill);
  const { discord } = await startBot({ toolDirectories: [tools] });
  const ann = discord.user('ann');
  const skills = async () => (await ann.command('skills', { channel: 'general' }).reply()).content;
  expect(await skills()).toContain('- **letters** (on, part of letters): How we write letters');
  await ann.command('agent', { channel: 'general', options: { name: 'Disabled' } }).reply();
  expect(await skills()).toContain('- **letters** (off');
});

test('/skills says where skills come from if there are none', async () => {
  const { discord } = await startBot();
  const shown = await discord.user('ann').command('skills', { channel: 'general' }).reply();
  expect(shown.content).toContain('There are no skills here.');
});
