// A database of the version before is migrated when the bot starts: SQLite and PostgreSQL run the same tests.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { startDiscord } from '../counterpart/discord.ts';
import type { MigratorOptions } from '../support/fixture-migrator.ts';
import { execute, type Location, oldTurns, writeOldDatabase } from '../support/old-database.ts';
import { answers, botOptions, runBot } from '../support/start-bot.ts';
import { storedConversations } from '../support/stored-conversations.ts';

const program = fileURLToPath(new URL('../support/fixture-migrator.ts', import.meta.url));
const messages = oldTurns.flatMap(([, each]) => each);
const turns = oldTurns.flatMap(([claim, each]) => each.map(() => claim));

/** Opens the database in another process. Resolves with its exit code, null if it was killed. */
export async function openElsewhere(options: MigratorOptions): Promise<number | null> {
  const args = ['-C', 'pocket-agent/source', program, JSON.stringify(options)];
  const [code] = await once(spawn(process.execPath, args, { stdio: 'inherit' }), 'exit');
  return code;
}

/** Nothing of the migration is done. */
export async function expectOld(database: Location): Promise<void> {
  const found = await execute(database, 'select json from discord_messages order by id');
  expect(found).toHaveLength(messages.length + 1);
  const created = await execute(database, "select name from pocket_migrations where store = 'conversations'");
  if (created.length > 0) expect(await execute(database, 'select * from pocket_messages')).toEqual([]);
}

/** Everything is migrated, once. */
export async function expectMigrated(database: Location): Promise<void> {
  const [other, own, ...more] = await storedConversations(database);
  expect(more).toEqual([]);
  expect(own).toMatchObject({ id: 'dm:1', messages, turns, updatedAt: new Date(1_700_000_000_000).toISOString() });
  expect(own?.title).toBe("What is on ann's picture?");
  expect(other).toMatchObject({ id: 'dm:2', messages: { length: 1 }, turns: ['300'] });
  await expect(execute(database, 'select * from discord_messages')).rejects.toThrow('discord_messages');
  const applied = await execute(database, "select name from pocket_migrations where store = 'discord' order by number");
  expect(applied.map(({ name }) => name)).toEqual([
    'tables',
    'claim-indexes',
    'bots',
    'conversations',
    'schedules',
    'logins',
  ]);
}

export function testMigration(newDatabase: () => Promise<Location>): void {
  test('the bot continues the conversations of a database of the version before', async () => {
    const discord = await startDiscord({ rateLimits: 'none' });
    await using _closed = { [Symbol.asyncDispose]: () => discord.close() };
    const [ann, database] = [discord.user('ann'), await newDatabase()];
    await writeOldDatabase(database, `dm:${ann.id}`);
    const [first, second] = [answers(() => 'from the first'), answers(() => 'from the second')];
    const models = [
      { name: 'first', model: first, vision: true },
      { name: 'second', model: second, vision: true },
    ];
    const options = { ...(await botOptions(discord, { database })), models };
    await (await runBot(options)).close();
    await runBot(options); // again, with nothing left to migrate
    ann.say(ann.dm, 'still there?');
    await discord.waitForBotMessage(ann.dm, ({ content }) => content === 'from the second');
    const [{ prompt, tools } = { prompt: [], tools: [] }] = second.calls;
    expect(JSON.stringify(prompt[0])).toContain('They talked about dogs.');
    expect(prompt.slice(1, -1)).toMatchObject(messages);
    expect(prompt.at(-1)?.role).toBe('user');
    expect(tools ?? []).toEqual([]); // the user has turned all off
    const own = (await storedConversations(database)).find(({ id }) => id === `dm:${ann.id}`);
    expect(own?.turns?.slice(0, -2)).toEqual(turns);
    expect(own?.messages).toHaveLength(messages.length + 2);
  });

  test.each(['insert into "pocket_messages"', 'drop table discord_messages'])(
    'a process killed before %s leaves the old database, and the next one migrates it',
    async (diesBefore) => {
      const database = await newDatabase();
      await writeOldDatabase(database);
      expect(await openElsewhere({ database, diesBefore })).toBeNull();
      await expectOld(database);
      expect(await openElsewhere({ database })).toBe(0);
      await expectMigrated(database);
    },
  );

  test('of processes that start together one migrates, and the others wait for it', async () => {
    const database = await newDatabase();
    await writeOldDatabase(database);
    const codes = await Promise.all([1, 2, 3].map(() => openElsewhere({ database })));
    expect(codes).toEqual([0, 0, 0]);
    await expectMigrated(database);
  });
}
