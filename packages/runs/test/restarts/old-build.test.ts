// Runs that an earlier build began: this build ends them, or refuses the database of a later one.
import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { tool } from 'pocket-agent';
import { expect, onTestFinished, test } from 'vitest';
import { openRuns } from '../../src/index.ts';
import { agentOf, eventsOf, newFile, silent } from '../agents.ts';
import { firstQuestion } from '../waiting.ts';

function oldFile(): string {
  const file = newFile();
  const database = new DatabaseSync(file, { enableForeignKeyConstraints: false }); // tables in the order of their names
  database.exec(readFileSync(new URL('fixtures/old-build.sql', import.meta.url), 'utf8'));
  database.close();
  return file;
}

async function open(file: string, effects: string[] = []) {
  const act = (name: string) => tool({ name, description: name, run: () => `${name} done ${effects.push(name)}` });
  const refund = tool({
    name: 'refund',
    description: 'Refunds an order',
    run: () => `refunded ${effects.push('refund')}`,
  });
  const look = tool({ name: 'look', description: 'Looks', annotations: { readOnlyHint: true }, run: () => 'seen' });
  const runs = await openRuns({
    url: `sqlite:${file}`,
    logger: silent,
    agents: {
      waits: () => agentOf(['', 'Refunded.'], { tools: [refund, look], access: { confirm: 'write' } }),
      pays: () => agentOf(['', '', 'Paid.'], { tools: [act('pay'), look] }),
      talks: () => agentOf(['', '', 'Three.']),
    },
  });
  onTestFinished(() => runs.close());
  return runs;
}

test('runs that wait, that were killed during a call, and that are over go on under this build', async () => {
  const effects: string[] = [];
  const runs = await open(oldFile(), effects);
  expect(await runs.result('pays')).toBe('Paid.');
  const paid = await eventsOf(runs, 'pays');
  expect(JSON.stringify(paid)).toContain('may or may not have taken effect');
  expect(paid.map(({ number }) => number)).toEqual(paid.map((_, index) => index + 1));

  const question = await firstQuestion(runs);
  expect(question).toMatchObject({
    run: 'waits',
    caller: 'user-42',
    call: { tool: 'refund', arguments: { order: 17 } },
  });
  await runs.answer(question.id, { allow: true, hash: question.hash });
  expect(await runs.result('waits')).toBe('Refunded.');
  expect(effects).toEqual(['refund']);

  await runs.start('talks', 'Third', { id: 'talk-3', conversation: 'c', deliver: true });
  expect(await runs.result('talk-3')).toBe('Three.');
  expect((await runs.list({ undelivered: true })).runs.map(({ id }) => id)).toEqual(['talk-3']);
  expect(await runs.get('talk-1')).toMatchObject({ status: 'finished', about: { thread: 7 } });
  expect(await runs.schedules()).toMatchObject([{ name: 'daily', agent: 'talks' }]);
});

test('the database of a later build is refused, and nothing in it changes', async () => {
  const file = oldFile();
  const database = new DatabaseSync(file);
  database.exec(`insert into pocket_migrations (store, number, name, applied_at) values ('runs', 4, 'of 2030', 1)`);
  const all = () => JSON.stringify(database.prepare('select * from pocket_runs order by id').all());
  const before = all();
  await expect(open(file)).rejects.toThrow('has the migration "of 2030", which this version does not know');
  expect(all()).toBe(before);
  database.close();
});
