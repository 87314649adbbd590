// The rows of the table: title, base and target of each figure.
import { floor, sdk, us } from '../contenders/contenders.ts';

export interface Figure extends Row, Group {}

interface Row {
  id: string;
  title: string;
  unit: string;
  moreIsBetter?: boolean;
  /** The limit of our ratio to the base, or of our value. `ofPeers` limits our value relative to each peer. */
  target?: { ratio?: number; value?: number; ofPeers?: number };
}

interface Group {
  /** The item in README.md. */
  item: number;
  /** The workload that measures it. */
  work: string;
  /** The contender that ratios refer to. */
  base: string;
}

export const figures: readonly Figure[] = [
  ...rows({ item: 1, work: 'loop', base: floor }, [
    { id: 'step', title: 'a step, one tool offered', unit: 'µs', target: { ratio: 5 } },
    { id: 'stepOf40Tools', title: 'a step, 40 tools offered', unit: 'µs', target: { ratio: 5 } },
    { id: 'growthOf40Tools', title: 'a step with 40 tools compared with 1', unit: '×', target: { value: 1.2 } },
  ]),
  ...rows({ item: 2, work: 'mcpSteps', base: sdk }, [
    { id: 'mcpStep', title: 'a step through MCP in process', unit: 'µs', target: { ratio: 1.2 } },
    {
      id: 'mcpGrowthOf20Tools',
      title: 'a step through MCP with 20 tools compared with 1',
      unit: '×',
      target: { value: 1.2 },
    },
  ]),
  ...rows({ item: 3, work: 'loop', base: floor }, [
    { id: 'atOnce', title: '16 parallel calls of 5 ms', unit: 'ms', target: { ratio: 1.12 } },
  ]),
  ...rows({ item: 4, work: 'loop', base: floor }, [
    { id: 'stepAt10', title: 'step 10 of 200', unit: 'µs' },
    { id: 'stepAt200', title: 'step 200 of 200', unit: 'µs', target: { ratio: 5 } },
    { id: 'growth', title: 'step 200 compared with step 10', unit: '×', target: { value: 1.2 } },
  ]),
  ...rows({ item: 5, work: 'cold', base: 'ai' }, [
    { id: 'importMs', title: 'cold import, in addition to node', unit: 'ms', target: { ratio: 1 / 3 } },
    { id: 'firstAnswerMs', title: 'cold import and first answer, in addition to node', unit: 'ms' },
  ]),
  ...rows({ item: 5, work: 'cold', base: floor }, [
    { id: 'importMb', title: 'memory after import', unit: 'MB' },
    { id: 'firstAnswerMb', title: 'memory after the first answer', unit: 'MB' },
  ]),
  ...rows({ item: 5, work: 'installed', base: 'ai' }, [
    { id: 'packages', title: 'packages installed', unit: '' },
    { id: 'megabytes', title: 'installed', unit: 'MB' },
  ]),
  ...rows({ item: 6, work: 'idle', base: floor }, [
    { id: 'idle', title: 'idle agent, 10 tools, before its first run', unit: 'kB', target: { value: 6 } },
    { id: 'idleAsked', title: 'idle agent, 10 tools, after one run', unit: 'kB' },
    { id: 'idleOwn', title: 'idle agent, 10 tools of its own, before its first run', unit: 'kB', target: { value: 6 } },
  ]),
  ...rows({ item: 6, work: 'idleMcp', base: sdk }, [
    {
      id: 'idleMcp',
      title: 'idle agent, 10 tools through MCP, same on all servers',
      unit: 'kB',
      target: { ratio: 1.15 },
    },
  ]),
  ...rows({ item: 6, work: 'idleMcpOwn', base: sdk }, [
    { id: 'idleMcpOwn', title: 'idle agent, 10 tools through MCP, different on each server', unit: 'kB' },
  ]),
  ...rows({ item: 6, work: 'loop', base: floor }, [
    { id: 'growthOf20Tools', title: 'a step with 20 tools compared with 1', unit: '×', target: { value: 1.2 } },
  ]),
  ...rows({ item: 7, work: 'loop', base: floor }, [
    { id: 'delta', title: 'a streamed delta', unit: 'µs', target: { ratio: 5, ofPeers: 0.5 } },
  ]),
  ...rows(
    { item: 8, work: 'stdio', base: sdk },
    calls({ id: 'stdio', title: 'MCP over stdio', ratio: 0.95, ratio32: 0.95 }),
  ),
  ...http('2026'),
  ...http('2025'),
  ...rows({ item: 9, work: 'router', base: floor }, [
    { id: 'modelCall', title: 'a model call through Router', unit: 'µs' },
  ]),
  ...rows({ item: 10, work: 'search', base: floor }, [
    { id: 'searchCommon', title: 'agent3: search, a common word', unit: 'ms' },
    { id: 'searchSentence', title: 'agent3: search, a sentence', unit: 'ms' },
    { id: 'searchMisspelt', title: 'agent3: search, two misspelt words', unit: 'ms' },
  ]),
  ...rows({ item: 10, work: 'bridge', base: floor }, [
    { id: 'agentCall', title: 'agent3: a call, recorded in its registry', unit: 'µs' },
  ]),
  ...rows({ item: 11, work: 'mattermost', base: floor }, [
    { id: 'mattermostCalls', title: 'Mattermost: calls per second of CPU, in process', unit: '', moreIsBetter: true },
    {
      id: 'mattermostHttpCalls',
      title: 'Mattermost: calls per second of CPU, over HTTP',
      unit: '',
      moreIsBetter: true,
    },
    { id: 'mattermostHttpRate', title: 'Mattermost: calls over HTTP, 8 in flight', unit: '/s', moreIsBetter: true },
    { id: 'mattermostRequests', title: 'Mattermost: requests per call', unit: '' },
  ]),
  ...rows({ item: 12, work: 'cold', base: floor }, [{ id: 'commandMs', title: 'command line, --version', unit: 'ms' }]),
  ...rows({ item: 12, work: 'cold', base: sdk }, [
    { id: 'answerMs', title: 'command line, a question with tools', unit: 'ms' },
  ]),
  ...rows({ item: 13, work: 'crowd', base: floor }, [
    { id: 'crowdStep', title: '10,000 runs at once: CPU per step', unit: 'µs', target: { ratio: 4 } },
    { id: 'crowdMemory', title: '10,000 runs at once: memory per run', unit: 'kB', target: { value: 40 } },
  ]),
  ...rows({ item: 14, work: 'code', base: us }, [
    {
      id: 'codeTokens',
      title: 'code mode: tokens of a task over 500 records, with direct calls 1',
      unit: '×',
      target: { value: 0.1 },
    },
    {
      id: 'codeCall',
      title: 'code mode: a call inside code takes longer than a direct one by',
      unit: 'ms',
      target: { value: 1 },
    },
  ]),
];

function rows(group: Group, list: readonly Row[]): Figure[] {
  return list.map((row) => ({ ...group, ...row }));
}

interface CallRows {
  id: string;
  title: string;
  /** The target for calls one by one. */
  ratio: number;
  /** The target with 32 calls in flight. */
  ratio32?: number;
}

function calls({ id, title, ratio, ratio32 }: CallRows): Row[] {
  const rate = { unit: '/s', moreIsBetter: true };
  return [
    { id: `${id}Calls`, title: `${title}, one by one`, ...rate, target: { ratio } },
    {
      id: `${id}Calls32`,
      title: `${title}, 32 in flight`,
      ...rate,
      ...(ratio32 === undefined ? {} : { target: { ratio: ratio32 } }),
    },
  ];
}

function http(era: string): Figure[] {
  const [id, title] = [`http${era}`, `MCP over HTTP, server of ${era}`];
  return rows({ item: 8, work: id, base: sdk }, [
    ...calls({ id, title, ratio: 1.3 }),
    { id: `${id}CallCpu`, title: `${title}, one by one: client CPU per call`, unit: 'µs', target: { ratio: 0.7 } },
    { id: `${id}CallCpu32`, title: `${title}, 32 in flight: client CPU per call`, unit: 'µs' },
  ]);
}

/** Marks figures where more is better. */
export const moreMark = '▲';

export function titleOf({ title, unit, moreIsBetter = false }: Figure): string {
  return `${title}${unit ? `, ${unit}` : ''}${moreIsBetter ? ` ${moreMark}` : ''}`;
}

/** Whether a value, or a ratio if the target is a ratio, meets the target. */
export function meets({ target, moreIsBetter = false }: Figure, measured: number): boolean {
  const limit = target?.value ?? target?.ratio ?? Number.NaN;
  return moreIsBetter ? measured >= limit : measured <= limit;
}

export function targetText({ target, moreIsBetter = false, base, unit }: Figure): string {
  if (!target) return '';
  const sign = moreIsBetter ? '≥' : '≤';
  if (target.value !== undefined) return `${sign} ${target.value} ${unit}`;
  const ofPeers = target.ofPeers === undefined ? '' : `, ${sign} ${target.ofPeers} × every peer`;
  return `${sign} ${target.ratio === 1 / 3 ? '⅓' : target.ratio} × ${base}${ofPeers}`;
}
