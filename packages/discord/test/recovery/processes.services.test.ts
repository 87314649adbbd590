// Several processes, one of them killed: nothing is lost, doubled or left behind.
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startPostgres } from '../../../store/test/postgres.ts';
import { openBotStore } from '../../src/store/schema.ts';
import { type DiscordOptions, type LocalDiscord, startDiscord } from '../counterpart/discord.ts';
import { crowd } from '../support/crowd.ts';
import { killed, spawnBot } from '../support/spawn-bot.ts';
import { temporaryFolder } from '../support/start-bot.ts';

const NONCES_ARE_FORGOTTEN_MS = 600_000;

async function start(options: DiscordOptions): Promise<LocalDiscord> {
  const discord = await startDiscord({ rateLimits: 'none', ...options });
  onTestFinished(() => discord.close());
  return discord;
}

const patience = Number(process.env.TEST_PATIENCE);
const place = ({ apiUrl, token }: LocalDiscord) => ({ apiUrl, token });

/** All people ask all questions in parallel. */
function askAll(discord: LocalDiscord, people: number, questions: readonly string[]) {
  const rooms = crowd(people).map(({ name }) => discord.user(name).dm);
  for (const question of questions)
    for (const { name } of crowd(people)) discord.user(name).say(discord.user(name).dm, question);
  const shown = () => rooms.flatMap((dm) => discord.botMessages(dm));
  const answers = questions.map((question) => `answer to ${question}`);
  const answered = () => shown().filter(({ content }) => answers.includes(content)).length;
  return {
    answered,
    /** Each question has exactly one answer, in order, and there are no other messages. */
    expectAnswered: async (timeoutMs: number) => {
      const all = people * questions.length;
      const isWhole = () => answered() === all && shown().length === all;
      await discord.waitFor(isWhole, {
        timeoutMs,
        what: 'all answers and nothing else',
        seen: () => `${answered()} answers, ${shown().length} messages`,
      });
      for (const dm of rooms) {
        const asked = discord.messages(dm).filter(({ author }) => !author.bot);
        const replies = discord.botMessages(dm);
        expect(replies.map(({ replyTo }) => replyTo?.messageId)).toEqual(asked.map(({ id }) => id));
        expect(replies.map(({ content }) => content)).toEqual(answers);
      }
    },
  };
}

test('200 conversations, three processes on PostgreSQL, one killed: each question is answered once and in order', {
  timeout: 120_000 * patience,
}, async () => {
  const postgres = await startPostgres();
  onTestFinished(() => postgres.stop());
  const database = { url: await postgres.createDatabase() };
  const discord = await start({ users: crowd(200), guilds: [] });
  const given = { ...place(discord), database };
  // the first process creates the tables
  const children = [await spawnBot(given), ...(await Promise.all([spawnBot(given), spawnBot(given)]))];
  const { db, close } = await openBotStore(database);
  onTestFinished(close);

  const { answered, expectAnswered } = askAll(discord, 200, ['asks one', 'asks two', 'asks three']);
  await discord.waitFor(() => answered() >= 100, {
    what: 'some answers',
    timeoutMs: 30_000 * patience,
    seen: () => '',
  });
  for (const child of children) child.kill('SIGSTOP'); // to inspect what they own
  const held = await db
    .selectFrom('discord_claims')
    .innerJoin('discord_conversations', 'discord_conversations.id', 'discord_claims.conversation')
    .innerJoin('discord_processes', 'discord_processes.id', 'discord_conversations.owner')
    .where('state', 'in', ['running', 'acting'])
    .groupBy('pid')
    .select(({ fn }) => ['pid', fn.countAll<number>().as('count')])
    .orderBy('count', 'desc')
    .execute();
  const busiest = children.find(({ pid }) => pid === held[0]?.pid);
  if (!busiest) throw new Error('No process was answering.');
  await killed(busiest);
  for (const child of children) child.kill('SIGCONT');
  await expectAnswered(60_000 * patience);
  expect(discord.unknownRequests).toEqual([]);
});

test('another process removes an unrecorded notice of a killed process', async () => {
  const database = { file: join(await temporaryFolder(), 'bot.db') };
  const discord = await start({ users: crowd(12), guilds: [] });
  const given = { ...place(discord), database };
  const first = await spawnBot({ ...given, diesAfter: 'yours is next' });
  const second = await spawnBot(given);
  const ended = once(first, 'exit');
  // it runs, but the other process owns the notices
  second.kill('SIGSTOP');
  const { expectAnswered } = askAll(discord, 12, ['asks slowly one', 'asks slowly two']);
  await ended;
  second.kill('SIGCONT');
  // less than the lease of 45 seconds
  await expectAnswered(30_000);
});

test.each([
  { what: 'the only message', question: 'asks one', diesAfter: '-0"', pieces: 1 },
  { what: 'the first of several', question: 'asks for much', diesAfter: '-0"', pieces: 3 },
  { what: 'one in the middle', question: 'asks for much', diesAfter: '-1"', pieces: 3 },
  { what: 'the last of several', question: 'asks for much', diesAfter: '-2"', pieces: 3 },
])(
  'after a kill when Discord had accepted $what of an answer, it is not sent again, even minutes later',
  async ({ question, diesAfter, pieces }) => {
    const database = { file: join(await temporaryFolder(), 'bot.db') };
    const discord = await start({ users: [{ name: 'ann' }], guilds: [] });
    const given = { ...place(discord), database };
    const first = await spawnBot({ ...given, diesAfter });
    const ended = once(first, 'exit');
    const ann = discord.user('ann');
    ann.say(ann.dm, question);
    await ended;
    const before = discord.botMessages(ann.dm).map(({ id }) => id);
    expect(before).not.toEqual([]);
    discord.stage.pass(NONCES_ARE_FORGOTTEN_MS);
    await spawnBot(given);
    const { db, close } = await openBotStore(database);
    onTestFinished(close);
    const states = async () =>
      (await db.selectFrom('discord_claims').select('state').execute()).map(({ state }) => state);
    await expect.poll(states).toEqual(['done']);
    const messages = discord.botMessages(ann.dm);
    expect(messages).toHaveLength(pieces);
    expect(messages.map(({ id }) => id).slice(0, before.length)).toEqual(before);
    const text = messages.map(({ content }) => content).join('\n');
    const lines = Array.from({ length: 150 }, (_, index) => `line ${index} of a very long answer`);
    expect(text).toBe(pieces === 1 ? 'answer to asks one' : lines.join('\n'));
  },
);
