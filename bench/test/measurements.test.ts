// Figures of several runs of the benchmark in one table.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Measurements } from '../report/measurements.ts';
import { Results } from '../report/results.ts';
import { workloads } from '../tasks/tasks.ts';

const conditions = { node: 'v24.1.0', versions: { ai: 'ai@7.0.0' } };
const newFile = () => join(mkdtempSync(join(tmpdir(), 'measurements-')), 'measurements.json');
const measured = (step: number) => ({
  commit: 'abc1234',
  minutes: 2,
  measured: [
    { name: 'floor', round: 0, figures: { step: 2 } },
    { name: 'pocket-agent', round: 0, figures: { step } },
  ],
});

test('a table is complete when all workloads were measured, in one run or several', () => {
  const file = newFile();
  new Measurements(file, conditions).add('loop', measured(10));
  const later = new Measurements(file, conditions);
  expect(later.missing).toEqual(Object.keys(workloads).filter((work) => work !== 'loop'));
  for (const work of later.missing) later.add(work, { ...measured(10), measured: [] });
  expect(new Measurements(file, conditions).missing).toEqual([]);
  expect(Results.of(later).ratio('pocket-agent', 'step')).toBe(5);
});

test('measuring a workload again replaces its figures', () => {
  const file = newFile();
  new Measurements(file, conditions).add('loop', measured(10));
  const again = new Measurements(file, conditions);
  again.add('loop', measured(8));
  expect(Results.of(again).ratios('pocket-agent', 'step')).toEqual([4]);
});

test('figures of other versions or another machine are not mixed in', () => {
  const file = newFile();
  new Measurements(file, conditions).add('loop', measured(10));
  const newer = new Measurements(file, { ...conditions, versions: { ai: 'ai@7.1.0' } });
  expect(newer.get('loop')).toBeUndefined();
  newer.add('code', measured(8));
  expect(new Measurements(file, conditions).get('loop')).toBeUndefined();
});
