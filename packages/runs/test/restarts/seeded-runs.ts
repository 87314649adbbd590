// Runs from a seed, in processes that are killed at random: each run ends once with its answer, in a valid history, and no call that
// must not be made twice is.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { PocketAgent } from 'pocket-agent';
import { expect } from 'vitest';
import { expectValidHistory } from '../../../pocket-agent/test/helpers.ts';
import { openRuns } from '../../src/index.ts';
import { eventsOf, newFile, silent } from '../agents.ts';
import { startProgram } from '../programs/start-program.ts';
import { random, type SeededOptions, scriptOf } from './seeded.ts';

const program = fileURLToPath(new URL('../programs/seeded-program.ts', import.meta.url));
const RUNS = 30;

/** The seeds of a test: SEED=7 repeats one, SEEDS=100 makes 3,000 runs. */
export function seedsOf(count: number): number[] {
  const { SEED, SEEDS = count } = process.env;
  return SEED ? [Number(SEED)] : Array.from({ length: Number(SEEDS) }, (_, index) => index + 1);
}

/** `url`: an empty database. */
export async function expectRunsToEnd(
  url: string,
  { seed, maxKills }: { seed: number; maxKills: number },
): Promise<void> {
  const options: SeededOptions = { url, effects: `${newFile()}.effects`, seed, runs: RUNS };
  const next = random(seed);
  let kills = 0;
  for (let isOver = false; !isOver; ) {
    const killAt = kills < maxKills ? { killAt: 2 * RUNS + Math.floor(next() * 12 * RUNS) } : {};
    const { killed, output } = await startProgram(program, { ...options, ...killAt });
    if (killed) kills++;
    else isOver = output !== '';
  }
  expect(kills).toBeGreaterThan(0);
  const lines = readFileSync(options.effects, 'utf8').trim().split('\n');
  const runs = await openRuns({ url, logger: silent });
  for (let index = 0; index < RUNS; index++) await expectEnded(runs, { run: `run-${index}`, seed, lines });
  await runs.close();
}

interface Expected {
  run: string;
  seed: number;
  lines: readonly string[];
}

async function expectEnded(runs: Awaited<ReturnType<typeof openRuns>>, { run, seed, lines }: Expected): Promise<void> {
  const events = await eventsOf(runs, run);
  expect(events.map(({ number }) => number)).toEqual(events.map((_, index) => index + 1));
  expect(events.flatMap(({ type, data }) => (type === 'finished' ? [data.answer] : []))).toEqual([run]);
  const messages = events.flatMap((event) => (event.type === 'message' ? [event.data] : []));
  expectValidHistory(new PocketAgent({ llmModel: 'demo', messages }));
  const results = new Map(
    messages.flatMap((message) =>
      message.role === 'tool'
        ? message.content.flatMap((part) =>
            part.type === 'tool-result' ? [[part.toolCallId, part.output] as const] : [],
          )
        : [],
    ),
  );
  for (const step of scriptOf(seed, run))
    for (const { name, id = '' } of typeof step === 'string' ? [] : (step.toolCalls ?? [])) {
      const times = lines.filter((line) => line === `${name} ${run} ${id}`).length;
      const isDone = JSON.stringify(results.get(id)).includes(`${name} done`);
      const where = `seed ${seed}, ${run}, ${name} ${id}`;
      if (name === 'look' || name === 'set') expect([isDone, times > 0], where).toEqual([true, true]);
      else if (isDone) expect(times, where).toBe(1);
      else {
        expect(JSON.stringify(results.get(id)), where).toContain('may or may not have taken effect');
        expect(times, where).toBeLessThanOrEqual(1);
      }
    }
}
