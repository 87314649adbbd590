// The rows of the table: what a figure is called, what it is compared with, and what it should be.
import { floors } from './contenders.ts';

export interface Figure {
  id: string;
  /** Number of the piece of work in the list that the targets are from. */
  item: number;
  title: string;
  unit: string;
  /** Whom the ratios are to. */
  base: string;
  moreIsBetter?: boolean;
  /** Of our ratio to the base, or of our value. */
  target?: { ratio?: number; value?: number };
}

const [floor = '', sdk = ''] = floors;

export const figures: readonly Figure[] = [
  { id: 'step', item: 1, title: 'a step, one tool offered', unit: 'µs', base: floor, target: { ratio: 5 } },
  { id: 'stepOf40Tools', item: 1, title: 'a step, 40 tools offered', unit: 'µs', base: floor, target: { ratio: 5 } },
  {
    id: 'toolGrowth',
    item: 1,
    title: 'a step with 40 tools over one with 1',
    unit: '×',
    base: floor,
    target: { value: 1.2 },
  },
  { id: 'mcpStep', item: 2, title: 'a step through MCP in process', unit: 'µs', base: sdk, target: { ratio: 1.15 } },
  { id: 'atOnce', item: 3, title: '16 calls of 5 ms at once', unit: 'ms', base: floor, target: { ratio: 1.12 } },
  { id: 'stepAt10', item: 4, title: 'step 10 of 200', unit: 'µs', base: floor },
  { id: 'stepAt200', item: 4, title: 'step 200 of 200', unit: 'µs', base: floor, target: { ratio: 5 } },
  { id: 'growth', item: 4, title: 'step 200 over step 10', unit: '×', base: floor, target: { value: 1.2 } },
  { id: 'importMs', item: 5, title: 'cold import, beyond node', unit: 'ms', base: 'ai', target: { ratio: 1 / 3 } },
  { id: 'importMb', item: 5, title: 'memory after import', unit: 'MB', base: floor },
  { id: 'packages', item: 5, title: 'packages installed', unit: '', base: 'ai' },
  { id: 'megabytes', item: 5, title: 'installed', unit: 'MB', base: 'ai' },
  { id: 'idle', item: 6, title: 'idle agent, 10 tools', unit: 'kB', base: floor, target: { value: 6 } },
  {
    id: 'idleMcp',
    item: 6,
    title: 'idle agent, the same 10 tools by MCP',
    unit: 'kB',
    base: sdk,
    target: { ratio: 1.15 },
  },
  { id: 'delta', item: 7, title: 'a streamed delta', unit: 'µs', base: floor, target: { ratio: 5 } },
  {
    id: 'stdioCalls',
    item: 8,
    title: 'MCP over stdio, one by one',
    unit: '/s',
    base: sdk,
    moreIsBetter: true,
    target: { ratio: 1 },
  },
  {
    id: 'stdioCalls32',
    item: 8,
    title: 'MCP over stdio, 32 in flight',
    unit: '/s',
    base: sdk,
    moreIsBetter: true,
    target: { ratio: 1 },
  },
  {
    id: 'http2026Calls',
    item: 8,
    title: 'MCP over HTTP, server of 2026, one by one',
    unit: '/s',
    base: sdk,
    moreIsBetter: true,
    target: { ratio: 1.5 },
  },
  {
    id: 'http2026Calls32',
    item: 8,
    title: 'MCP over HTTP, server of 2026, 32 in flight',
    unit: '/s',
    base: sdk,
    moreIsBetter: true,
    target: { ratio: 1.5 },
  },
  {
    id: 'http2026CallCpu',
    item: 8,
    title: 'MCP over HTTP, server of 2026, one by one: CPU of the client for a call',
    unit: 'µs',
    base: sdk,
  },
  {
    id: 'http2026CallCpu32',
    item: 8,
    title: 'MCP over HTTP, server of 2026, 32 in flight: CPU of the client for a call',
    unit: 'µs',
    base: sdk,
  },
  {
    id: 'http2025Calls',
    item: 8,
    title: 'MCP over HTTP, server of 2025, one by one',
    unit: '/s',
    base: sdk,
    moreIsBetter: true,
    target: { ratio: 1.5 },
  },
  {
    id: 'http2025Calls32',
    item: 8,
    title: 'MCP over HTTP, server of 2025, 32 in flight',
    unit: '/s',
    base: sdk,
    moreIsBetter: true,
    target: { ratio: 1.5 },
  },
  {
    id: 'http2025CallCpu',
    item: 8,
    title: 'MCP over HTTP, server of 2025, one by one: CPU of the client for a call',
    unit: 'µs',
    base: sdk,
  },
  {
    id: 'http2025CallCpu32',
    item: 8,
    title: 'MCP over HTTP, server of 2025, 32 in flight: CPU of the client for a call',
    unit: 'µs',
    base: sdk,
  },
  { id: 'modelCall', item: 9, title: 'a model call through Router', unit: 'µs', base: floor },
  { id: 'searchCommon', item: 10, title: 'agent3: search, a common word', unit: 'ms', base: floor },
  { id: 'searchSentence', item: 10, title: 'agent3: search, a sentence', unit: 'ms', base: floor },
  { id: 'searchMisspelt', item: 10, title: 'agent3: search, two words misspelt', unit: 'ms', base: floor },
  { id: 'agentCall', item: 10, title: 'agent3: a call through the bridge', unit: 'µs', base: floor },
  {
    id: 'mattermostCalls',
    item: 11,
    title: 'Mattermost: calls in process',
    unit: '/s',
    base: floor,
    moreIsBetter: true,
  },
  {
    id: 'mattermostHttpCalls',
    item: 11,
    title: 'Mattermost: calls over HTTP',
    unit: '/s',
    base: floor,
    moreIsBetter: true,
  },
  { id: 'mattermostRequests', item: 11, title: 'Mattermost: requests a call', unit: '', base: floor },
  { id: 'commandMs', item: 12, title: 'command line, --version', unit: 'ms', base: floor },
  { id: 'answerMs', item: 12, title: 'command line, a question with tools', unit: 'ms', base: sdk },
];

/** Whether a figure, or a ratio where the target is one, is as good as it should be. */
export function meets({ target, moreIsBetter = false }: Figure, is: number): boolean {
  const should = target?.value ?? target?.ratio ?? Number.NaN;
  return moreIsBetter ? is >= should : is <= should;
}

export function targetText({ target, moreIsBetter = false, base, unit }: Figure): string {
  if (!target) return '';
  const sign = moreIsBetter ? '≥' : '≤';
  if (target.value !== undefined) return `${sign} ${target.value} ${unit}`;
  return `${sign} ${target.ratio === 1 / 3 ? '⅓' : target.ratio} × ${base}`;
}
