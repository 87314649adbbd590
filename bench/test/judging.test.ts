// When a target is met, with made-up figures.
import { expect, test } from 'vitest';
import { loopPeers } from '../contenders/contenders.ts';
import { figures } from '../report/figures.ts';
import { cell, verdictText } from '../report/report.ts';
import { Results } from '../report/results.ts';
import { table } from '../report/table.ts';

/** `measured`: one value per round, by contender. */
function judged(id: string, measured: Record<string, number[]>): { verdict: string; cell: string } {
  const results = new Results();
  for (const [name, values] of Object.entries(measured))
    for (const [round, value] of values.entries()) results.add('loop', { name, round, figures: { [id]: value } });
  const figure = figures.find((each) => each.id === id);
  if (!figure) throw new Error(`There is no figure "${id}".`);
  return { verdict: verdictText(results, figure), cell: cell(results, 'pocket-agent', figure) };
}

test('ratios compare values of the same round, and their median decides', () => {
  const { verdict, cell: shown } = judged('step', { floor: [2, 4, 2], 'pocket-agent': [8, 18, 14] });
  expect(verdict).toBe('met, not in every round'); // 4, 4.5 and 7 times
  expect(shown).toBe('4.5 × ±33 % (14)');
});

test.each([
  ['a target met in every round', 'step', { floor: [2, 2], 'pocket-agent': [8, 9] }, 'met'],
  ['a missed target', 'step', { floor: [2], 'pocket-agent': [11] }, '**missed**'],
  ['a missing measurement', 'step', { floor: [2] }, '**missed**, not measured'],
  ['a missing base', 'step', { 'pocket-agent': [1] }, '**missed**, not measured'],
  ['a sufficient rate', 'http2026Calls', { 'mcp-sdk': [100], 'pocket-agent': [130] }, 'met'],
  ['an insufficient rate', 'http2026Calls', { 'mcp-sdk': [100], 'pocket-agent': [129] }, '**missed**'],
  [
    'a rate that the floor does not reach, either',
    'http2026Calls',
    { floor: [120], 'mcp-sdk': [100], 'pocket-agent': [110] },
    '**missed**, as by the floor',
  ],
  ['an absolute value, independent of the base', 'idle', { floor: [1], 'pocket-agent': [6] }, 'met'],
  ['a figure without target', 'packages', { ai: [10], 'pocket-agent': [20] }, ''],
])('the verdict for %s', (_what, id, measured, verdict) => {
  expect(judged(id, measured).verdict).toBe(verdict);
});

test('a target relative to all peers is not judged while a peer has no value', () => {
  const base = { floor: [1], 'pocket-agent': [2] };
  const most = Object.fromEntries(loopPeers.slice(1).map((name) => [name, [4]]));
  const [first = ''] = loopPeers;
  expect(judged('delta', { ...base, ...most }).verdict).toBe('not judged');
  expect(judged('delta', { ...base, ...most, [first]: [4] }).verdict).toBe('met');
  expect(judged('delta', { ...base, ...most, [first]: [3] }).verdict).toBe('**missed**');
  expect(judged('delta', { ...base, ai: [3] }).verdict).toBe('**missed**');
});

test('a failed round means that a target was not met in every round', () => {
  const results = new Results();
  results.add('loop', { name: 'floor', round: 0, figures: { step: 2 } });
  results.add('loop', { name: 'pocket-agent', round: 0, figures: { step: 8 } });
  results.add('loop', { name: 'pocket-agent', round: 1, failure: 'exit 1' });
  const [step] = figures;
  expect(step && verdictText(results, step)).toBe('met, not in every round');
});

test('the console table shows ratios, and values for the base and for Pocket Agent', () => {
  const results = new Results();
  for (const [name, values] of Object.entries({ floor: [2, 2], 'pocket-agent': [8, 9], ai: [200, 200] }))
    for (const [round, step] of values.entries()) results.add('loop', { name, round, figures: { step } });
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
