// The rows of the table: what a figure is called, what it is compared with, and what it should be.
import { floor, sdk } from './contenders.ts';

export interface Figure extends Row, Group {}

interface Row {
  id: string;
  title: string;
  unit: string;
  moreIsBetter?: boolean;
  /** Of our ratio to the base, or of our value; and of that to the value of every peer. */
  target?: { ratio?: number; value?: number; ofPeers?: number };
}

interface Group {
  /** Number of the piece of work in the list that the targets are from. */
  item: number;
  /** What measures it. */
  work: string;
  /** Whom the ratios are to. */
  base: string;
}

export const figures: readonly Figure[] = [
  ...rows({ item: 1, work: 'loop', base: floor }, [
    { id: 'step', title: 'a step, one tool offered', unit: 'µs', target: { ratio: 5 } },
    { id: 'stepOf40Tools', title: 'a step, 40 tools offered', unit: 'µs', target: { ratio: 5 } },
    { id: 'growthOf40Tools', title: 'a step with 40 tools over one with 1', unit: '×', target: { value: 1.2 } },
  ]),
  ...rows({ item: 2, work: 'mcpSteps', base: sdk }, [
    { id: 'mcpStep', title: 'a step through MCP in process', unit: 'µs', target: { ratio: 1.15 } },
    {
      id: 'mcpGrowthOf20Tools',
      title: 'a step through MCP with 20 tools over one with 1',
      unit: '×',
      target: { value: 1.2 },
    },
  ]),
  ...rows({ item: 3, work: 'loop', base: floor }, [
    { id: 'atOnce', title: '16 calls of 5 ms at once', unit: 'ms', target: { ratio: 1.12 } },
  ]),
  ...rows({ item: 4, work: 'loop', base: floor }, [
    { id: 'stepAt10', title: 'step 10 of 200', unit: 'µs' },
    { id: 'stepAt200', title: 'step 200 of 200', unit: 'µs', target: { ratio: 5 } },
    { id: 'growth', title: 'step 200 over step 10', unit: '×', target: { value: 1.2 } },
  ]),
  ...rows({ item: 5, work: 'cold', base: 'ai' }, [
    { id: 'importMs', title: 'cold import, beyond node', unit: 'ms', target: { ratio: 1 / 3 } },
    { id: 'firstAnswerMs', title: 'cold import and first answer, beyond node', unit: 'ms' },
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
    { id: 'idle', title: 'idle agent, 10 tools, never asked', unit: 'kB', target: { value: 6 } },
    { id: 'idleAsked', title: 'idle agent, 10 tools, after an answer', unit: 'kB' },
    { id: 'idleOwn', title: 'idle agent, 10 tools made for it alone, never asked', unit: 'kB', target: { value: 6 } },
  ]),
  ...rows({ item: 6, work: 'idleMcp', base: sdk }, [
    { id: 'idleMcp', title: 'idle agent, 10 tools by MCP, all servers alike', unit: 'kB', target: { ratio: 1.15 } },
  ]),
  ...rows({ item: 6, work: 'idleMcpOwn', base: sdk }, [
    { id: 'idleMcpOwn', title: 'idle agent, 10 tools by MCP, each server its own', unit: 'kB' },
  ]),
  ...rows({ item: 6, work: 'loop', base: floor }, [
    { id: 'growthOf20Tools', title: 'a step with 20 tools over one with 1', unit: '×', target: { value: 1.2 } },
  ]),
  ...rows({ item: 7, work: 'loop', base: floor }, [
    { id: 'delta', title: 'a streamed delta', unit: 'µs', target: { ratio: 5, ofPeers: 0.5 } },
  ]),
  ...rows({ item: 8, work: 'stdio', base: sdk }, calls({ id: 'stdio', title: 'MCP over stdio', ratio: 1 })),
  ...http('2026'),
  ...http('2025'),
  ...rows({ item: 9, work: 'router', base: floor }, [
    { id: 'modelCall', title: 'a model call through Router', unit: 'µs' },
  ]),
  ...rows({ item: 10, work: 'search', base: floor }, [
    { id: 'searchCommon', title: 'agent3: search, a common word', unit: 'ms' },
    { id: 'searchSentence', title: 'agent3: search, a sentence', unit: 'ms' },
    { id: 'searchMisspelt', title: 'agent3: search, two words misspelt', unit: 'ms' },
  ]),
  ...rows({ item: 10, work: 'bridge', base: floor }, [
    { id: 'agentCall', title: 'agent3: a call, recorded in its registry', unit: 'µs' },
  ]),
  ...rows({ item: 11, work: 'mattermost', base: floor }, [
    { id: 'mattermostCalls', title: 'Mattermost: calls in a second of CPU, in process', unit: '', moreIsBetter: true },
    {
      id: 'mattermostHttpCalls',
      title: 'Mattermost: calls in a second of CPU, over HTTP',
      unit: '',
      moreIsBetter: true,
    },
    { id: 'mattermostHttpRate', title: 'Mattermost: calls over HTTP, 8 in flight', unit: '/s', moreIsBetter: true },
    { id: 'mattermostRequests', title: 'Mattermost: requests a call', unit: '' },
  ]),
  ...rows({ item: 12, work: 'cold', base: floor }, [{ id: 'commandMs', title: 'command line, --version', unit: 'ms' }]),
  ...rows({ item: 12, work: 'cold', base: sdk }, [
    { id: 'answerMs', title: 'command line, a question with tools', unit: 'ms' },
  ]),
];

function rows(group: Group, of: readonly Row[]): Figure[] {
  return of.map((row) => ({ ...group, ...row }));
}

function calls({ id, title, ratio }: { id: string; title: string; ratio: number }): Row[] {
  const rate = { unit: '/s', moreIsBetter: true, target: { ratio } };
  return [
    { id: `${id}Calls`, title: `${title}, one by one`, ...rate },
    { id: `${id}Calls32`, title: `${title}, 32 in flight`, ...rate },
  ];
}

function http(era: string): Figure[] {
  const [id, title] = [`http${era}`, `MCP over HTTP, server of ${era}`];
  return rows({ item: 8, work: id, base: sdk }, [
    ...calls({ id, title, ratio: 1.5 }),
    { id: `${id}CallCpu`, title: `${title}, one by one: client's CPU a call`, unit: 'µs' },
    { id: `${id}CallCpu32`, title: `${title}, 32 in flight: client's CPU a call`, unit: 'µs' },
  ]);
}

/** Marks what is better when there is more of it. */
export const more = '▲';

export function titleOf({ title, unit, moreIsBetter = false }: Figure): string {
  return `${title}${unit ? `, ${unit}` : ''}${moreIsBetter ? ` ${more}` : ''}`;
}

/** Whether a figure, or a ratio where the target is one, is as good as it should be. */
export function meets({ target, moreIsBetter = false }: Figure, is: number): boolean {
  const should = target?.value ?? target?.ratio ?? Number.NaN;
  return moreIsBetter ? is >= should : is <= should;
}

export function targetText({ target, moreIsBetter = false, base, unit }: Figure): string {
  if (!target) return '';
  const sign = moreIsBetter ? '≥' : '≤';
  if (target.value !== undefined) return `${sign} ${target.value} ${unit}`;
  const ofPeers = target.ofPeers === undefined ? '' : `, ${sign} ${target.ofPeers} × every peer`;
  return `${sign} ${target.ratio === 1 / 3 ? '⅓' : target.ratio} × ${base}${ofPeers}`;
}
