// kill -9 before every statement that writes: at most one effect of each call, a valid history, and an answer.
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Message, PocketAgent } from 'pocket-agent';
import { expect, test } from 'vitest';
import { expectValidHistory } from '../../pocket-agent/test/helpers.ts';
import { openRuns } from '../src/index.ts';
import { eventsOf, newFile, silent } from './agents.ts';
import type { KilledOptions } from './programs/killed-program.ts';
import { startProgram } from './programs/start-program.ts';

const program = fileURLToPath(new URL('programs/killed-program.ts', import.meta.url));

const start = (options: KilledOptions) => startProgram(program, options);

/** More than one run makes; a later one is not reached. */
const WRITES = 60;
const all = Array.from({ length: WRITES }, (_, index) => index + 1);

test.each(all)('a process that is killed before write %i leaves a run that the next process ends', async (killAt) => {
  const file = newFile();
  const effects = `${file}.effects`;
  const options = { url: `sqlite:${file}`, effects, runs: 1 };
  await start({ ...options, killAt });
  const { output } = await start(options);
  expect(JSON.parse(output).answers).toEqual(['Done']);
  await expectOneEffect(file, effects);
});

const chains = [{ count: 6, every: 14 }, ...[7, 14, 21, 28, 35].map((every) => ({ count: 20, every }))];

test.each(chains)(
  'processes that are killed again and again, about every $every writes, end all $count runs',
  async ({ count, every }) => {
    const file = newFile();
    const effects = `${file}.effects`;
    const options = { url: `sqlite:${file}`, effects, runs: count };
    for (let processes = 1; ; processes++) {
      const { killed } = await start({ ...options, killAt: 25 + every * processes });
      if (!killed) break;
    }
    const runs = await openRuns({ url: `sqlite:${file}`, logger: silent });
    expect((await runs.list({ status: 'finished' })).runs).toHaveLength(count);
    for (const { id } of (await runs.list()).runs) expectWhole(await messagesOf(runs, id));
    await runs.close();
  },
);

async function expectOneEffect(file: string, effects: string): Promise<void> {
  const runs = await openRuns({ url: `sqlite:${file}`, logger: silent });
  const messages = await messagesOf(runs, 'run-0');
  await runs.close();
  expectWhole(messages);
  const lines = existsSync(effects) ? readFileSync(effects, 'utf8').trim().split('\n') : [];
  for (const id of ['a', 'c', 'd']) {
    const times = lines.filter((line) => line === `x ${id}`).length;
    const result = resultOf(messages, id);
    if (/ done$/.test(result)) expect(times).toBe(1);
    else expect([times <= 1, result]).toEqual([true, expect.stringContaining('may or may not have taken effect')]);
  }
}

async function messagesOf(runs: Awaited<ReturnType<typeof openRuns>>, id: string): Promise<Message[]> {
  const events = await eventsOf(runs, id);
  expect(events.map(({ number }) => number)).toEqual(events.map((_, index) => index + 1));
  expect(events.filter(({ type }) => type === 'finished')).toHaveLength(1);
  return events.flatMap((event) => (event.type === 'message' ? [event.data] : []));
}

function expectWhole(messages: readonly Message[]): void {
  expectValidHistory(new PocketAgent({ llmModel: 'demo', messages }));
  const roles = 'user assistant tool tool tool assistant tool assistant';
  expect(messages.map(({ role }) => role).join(' ')).toBe(roles);
}

function resultOf(messages: readonly Message[], id: string): string {
  const parts = messages.flatMap((message) => (message.role === 'tool' ? message.content : []));
  const part = parts.find((each) => each.type === 'tool-result' && each.toolCallId === id);
  return part?.type === 'tool-result' && 'value' in part.output ? String(part.output.value) : '';
}
