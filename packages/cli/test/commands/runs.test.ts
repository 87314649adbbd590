// `pocket-agent runs`: durable runs are listed, shown, answered and cancelled, also while another process works.
import { join } from 'node:path';
import { openRuns, type Runs } from '@pocket-agent/runs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { refunds, silent } from '../../../runs/test/agents.ts';
import { waits } from '../../../runs/test/waiting.ts';
import { CommandFolder } from '../fixtures/command.ts';

const folder = new CommandFolder();
const database = () => join(folder.path, 'runs.db');
let runs: Runs;

beforeAll(async () => {
  runs = await openRuns({ url: `sqlite:${database()}`, agents: { support: () => refunds() }, logger: silent });
});
afterAll(() => runs.close());

const command = (...args: string[]) => folder.command(['runs', ...args, '--runs', database()]);

test('lists and shows runs, and answers a question', async () => {
  await runs.start('support', 'Refund order 17', { id: 'order-17', caller: 'ann' });
  await waits(runs, 'order-17');
  const { stdout } = await command();
  expect(stdout).toMatch(/^order-17 +waiting +support +\d{4}-\d\d-\d\d \d\d:\d\d +Refund order 17\n$/);
  const asked = await command('questions');
  expect(asked.stdout).toMatch(
    /^\S{36} {2}run order-17 for ann: may .* call refund \(delete\)\?\n {2}\{"order":17\}\n/,
  );
  const [id = ''] = asked.stdout.split(' ');
  const shown = await command('show', 'order-17');
  expect(shown.stdout).toMatch(/^order-17: waiting\n\n> Refund order 17\n\n→ refund \{"order":17\}\n/);
  expect(shown.stdout).toContain(`${id}  run order-17`);
  expect(await command('answer', id, 'allow')).toMatchObject({ code: 0, stdout: '' });
  expect(await runs.result('order-17')).toBe('Order 17 is refunded.');
  const over = await command('show', 'order-17');
  expect(over.stdout).toContain('? answered: "allow"\n\n← refund refunded\n\nOrder 17 is refunded.\n');
  const lines = (await command('show', '--json', 'order-17')).stdout.trim().split('\n');
  expect(lines.map((line) => JSON.parse(line).number)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect((await command('answer', id, 'deny')).stderr).toContain('was answered already');
});

test('cancels a run, and prints JSON', async () => {
  await runs.start('support', 'Refund order 18', { id: 'order-18' });
  await waits(runs, 'order-18');
  const listed = await command('list', '--status', 'waiting', '--json');
  expect(JSON.parse(listed.stdout)).toMatchObject({ id: 'order-18', status: 'waiting' });
  expect((await command('cancel', 'order-18')).code).toBe(0);
  expect((await command('cancel', 'order-18')).stderr).toContain('is over already');
  expect((await command('questions')).stderr).toContain('No run waits for an answer.');
  expect((await command('show', 'order-18')).stdout).toContain('cancelled\n');
});

test('refuses what it does not understand', async () => {
  expect((await command('lst')).stderr).toContain('Did you mean "list"?');
  expect((await command('answer', 'x')).stderr).toContain('runs answer QUESTION ANSWER --runs DATABASE');
  expect((await command('answer', 'x', 'yes')).stderr).toContain('Answer allow, deny or JSON');
  expect((await command('answer', 'x', 'allow')).stderr).toContain('There is no question "x"');
  expect((await command('show', 'x')).stderr).toContain('There is no run "x"');
  expect((await command('list', '--status', 'done')).stderr).toContain('must be one of queued');
  expect((await folder.command(['runs'])).stderr).toContain('Name the database: --runs FILE');
  const missing = await folder.command(['runs', '--runs', join(folder.path, 'none.db')]);
  expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining('There is no database') });
});
