// Whether a target counts as met, by figures that are made up.
import { expect, test } from 'vitest';
import { loopPeers } from '../contenders.ts';
import { figures } from '../figures.ts';
import { cell, verdictText } from '../report.ts';
import { Results } from '../results.ts';
import { table } from '../table.ts';

/** `measured`: by contender, one value a round. */
function judged(id: string, measured: Record<string, number[]>): { verdict: string; cell: string } {
  const results = new Results();
  for (const [name, values] of Object.entries(measured))
    for (const [round, value] of values.entries()) results.add({ name, round, measured: { [id]: value } });
  const figure = figures.find((each) => each.id === id);
  if (!figure) throw new Error(`There is no figure "${id}".`);
  return { verdict: verdictText(results, figure), cell: cell(results, 'pocket-agent', figure) };
}

test('a ratio is to the base of the same round, and its median decides', () => {
  const { verdict, cell: shown } = judged('step', { floor: [2, 4, 2], 'pocket-agent': [8, 18, 14] });
  expect(verdict).toBe('met, not in every round'); // 4, 4.5 and 7 times
  expect(shown).toBe('4.5 × ±33 % (14)');
});

test.each([
  ['one that was always met', 'step', { floor: [2, 2], 'pocket-agent': [8, 9] }, 'met'],
  ['one that was missed', 'step', { floor: [2], 'pocket-agent': [11] }, '**missed**'],
  ['nothing measured', 'step', { floor: [2] }, '**missed**, not measured'],
  ['no base', 'step', { 'pocket-agent': [1] }, '**missed**, not measured'],
  ['a rate that is high enough', 'http2026Calls', { 'mcp-sdk': [100], 'pocket-agent': [150] }, 'met'],
  ['a rate that is too low', 'http2026Calls', { 'mcp-sdk': [100], 'pocket-agent': [149] }, '**missed**'],
  [
    'a rate that nobody reaches by hand',
    'http2026Calls',
    { floor: [140], 'mcp-sdk': [100], 'pocket-agent': [130] },
    '**missed**, as by the floor',
  ],
  ['a value, whatever the base has', 'idle', { floor: [1], 'pocket-agent': [6] }, 'met'],
  ['no target', 'packages', { ai: [10], 'pocket-agent': [20] }, ''],
])('the verdict on %s', (_what, id, measured, verdict) => {
  expect(judged(id, measured).verdict).toBe(verdict);
});

test('a target beside every peer is not met while one of them has no value', () => {
  const base = { floor: [1], 'pocket-agent': [2] };
  const most = Object.fromEntries(loopPeers.slice(1).map((name) => [name, [4]]));
  const [first = ''] = loopPeers;
  expect(judged('delta', { ...base, ...most }).verdict).toBe('not judged');
  expect(judged('delta', { ...base, ...most, [first]: [4] }).verdict).toBe('met');
  expect(judged('delta', { ...base, ...most, [first]: [3] }).verdict).toBe('**missed**');
  expect(judged('delta', { ...base, ai: [3] }).verdict).toBe('**missed**');
});

test('a round in which we failed keeps a target from being met always', () => {
  const results = new Results();
  results.add({ name: 'floor', round: 0, measured: { step: 2 } });
  results.add({ name: 'pocket-agent', round: 0, measured: { step: 8 } });
  results.addFailure({ name: 'pocket-agent', round: 1, work: 'loop', failure: 'exit 1' });
  const [step] = figures;
  expect(step && verdictText(results, step)).toBe('met, not in every round');
});

test('the table of the console shows ratios, with the values of the base and of ourselves', () => {
  const results = new Results();
  for (const [name, values] of Object.entries({ floor: [2, 2], 'pocket-agent': [8, 9], ai: [200, 200] }))
    for (const [round, step] of values.entries()) results.add({ name, round, measured: { step } });
  const lines = table(results, {
    names: ['floor', 'pocket-agent', 'ai'],
    figures: figures.slice(0, 1),
    isJudged: () => true,
  }).split('\n');
  expect(lines.map((line) => line.trim().split(/\s{2,}/))).toEqual([
    ['floor', 'pocket-agent', 'ai', 'our ±', 'target'],
    ['1', 'a step, one tool offered, µs', '2.0', '4.3 × (8.5)', '100 ×', '6 %', '≤ 5 × floor', 'met'],
  ]);
});
