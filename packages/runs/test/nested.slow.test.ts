// kill -9 in the middle of sub-agents and scripts: what they did and what was paid for is not done again.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { PocketAgent } from 'pocket-agent';
import { expect, test } from 'vitest';
import { expectValidHistory } from '../../pocket-agent/test/helpers.ts';
import { openRuns, type RunEvent } from '../src/index.ts';
import { eventsOf, newFile, silent } from './agents.ts';
import type { NestedOptions } from './programs/nested-program.ts';
import { startProgram } from './programs/start-program.ts';

const program = fileURLToPath(new URL('programs/nested-program.ts', import.meta.url));
const start = (options: NestedOptions) => startProgram(program, options);

/** About as many as the run makes: what is written together depends on the time that calls take. */
const WRITES = 160;
const all = Array.from({ length: WRITES / 4 }, (_, index) => index * 4 + 2);

test.concurrent.each(all)(
  'killed before write %i, the run goes on inside its sub-agents and its script',
  async (killAt) => {
    const file = newFile();
    const options = { url: `sqlite:${file}`, effects: `${file}.effects` };
    const { killed } = await start({ ...options, killAt });
    expect(killed).toBe(true);
    const { answer, totals } = JSON.parse((await start(options)).output);
    expect(answer).toBe('Done');
    const lines = readFileSync(options.effects, 'utf8').trim().split('\n');
    const [models, effects] = [lines.filter(isModel), lines.filter((line) => !isModel(line))];
    expect(new Set(effects).size).toBe(effects.length);
    // only the answer that was not saved yet is paid for again
    expect(models.length - new Set(models).size).toBeLessThanOrEqual(1);
    expect(totals.usage.modelCalls).toBe(new Set(models).size);
    const events = await readEvents(file);
    for (const subAgent of [undefined, 'clerk', 'clerk/helper']) expectWhole(events, subAgent);
    const isUnknown = /may or may not have taken effect/.test(JSON.stringify(events));
    if (!isUnknown) {
      expect(effects).toHaveLength(8);
      expect(totals.usage).toMatchObject({ modelCalls: 9, toolCalls: 15 });
    }
  },
);

const isModel = (line: string) => line.startsWith('model');

async function readEvents(file: string): Promise<RunEvent[]> {
  const runs = await openRuns({ url: `sqlite:${file}`, logger: silent });
  const events = await eventsOf(runs, 'run-0');
  await runs.close();
  return events;
}

function expectWhole(events: readonly RunEvent[], agent: string | undefined): void {
  const messages = events.flatMap((event) =>
    event.type === 'message' && event.subAgent === agent ? [event.data] : [],
  );
  expectValidHistory(new PocketAgent({ llmModel: 'demo', messages }));
}
