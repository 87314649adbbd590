// Tables of tools: capability, its origin, and whether a profile allows the tool.

import { printable, printableText } from '@pocket-agent/kit';
import {
  type Exposure,
  type ExposureOption,
  type JudgedTool,
  type Judgement,
  judge,
  type ListWait,
  type Profile,
  type ToolSource,
} from 'pocket-agent';
import {
  contextWindowOf,
  exposureOf,
  FIND_TOOLS,
  joinSkills,
  limitFor,
  planTools,
  providerOf,
  refusalBy,
  tokensOf,
} from 'pocket-agent/internal';
import { columns } from './text-width.ts';

export interface ToolRow extends Judgement {
  tool: string;
  allowed: boolean;
  reason?: string;
  exposure?: Exposure;
  /** An estimate for the definition in a prompt. */
  tokens?: number;
}

interface ToolListing {
  sources: readonly ToolSource[];
  profile: Profile | undefined;
  /** Without it, rows do not say how tools are exposed. */
  exposing?: Exposing;
  signal: AbortSignal;
  wait?: ListWait;
}

interface Exposing {
  option: ExposureOption | undefined;
  /** The model whose context window decides. */
  model: string | undefined;
}

type Entry = JudgedTool & {
  source: ToolSource;
  choices: readonly JudgedTool[] | undefined;
  refusal: string | undefined;
};

export async function toolRows({ sources, profile, exposing, signal, wait = 'all' }: ToolListing): Promise<ToolRow[]> {
  const lists = await Promise.all(
    joinSkills(sources).map(async (source) => ({ source, tools: await source.listTools(signal, wait) })),
  );
  const refusalOf = (judged: JudgedTool) => profile && refusalBy(profile, judged);
  const entries = lists.map(({ source, tools }) =>
    tools.map((tool): Entry => {
      const judged = { name: tool.name, tool, ...(source.judge?.(tool) ?? judge(tool)) };
      const choices = source.choices?.(tool)?.all;
      // a tool that offers choices can be called if one of them is allowed
      const reasons = (choices ?? [judged]).map(refusalOf);
      return { ...judged, source, choices, refusal: reasons.includes(undefined) ? undefined : reasons[0] };
    }),
  );
  const exposed = exposing && (await exposures(entries.flat(), profile, exposing));
  return entries.flatMap((own) => {
    const choices = own.find((each) => each.choices)?.choices ?? [];
    const rows = own.map((entry) => ({ ...rowOf(entry, entry.refusal), ...exposed?.get(entry) }));
    return [...rows, ...choices.map((choice) => rowOf(choice, refusalOf(choice)))];
  });
}

type ToolExposure = Pick<ToolRow, 'exposure' | 'tokens'>;

/** The exposure of each tool that is allowed. */
async function exposures(
  all: readonly Entry[],
  profile: Profile | undefined,
  { option, model }: Exposing,
): Promise<Map<Entry, ToolExposure>> {
  const entries = all.filter(({ refusal }) => refusal === undefined);
  const { direct, deferred, code } = planTools({
    entries,
    exposureFor: (entry) => exposureOf(entry, [profile?.exposure, option]),
    limit: limitFor([model === undefined ? undefined : await contextWindowOf(identityOf(model))]),
    canSearch: !profile || refusalBy(profile, { name: FIND_TOOLS, capability: 'read' }) === undefined,
  });
  const exposureIn = (entry: Entry) => {
    if (direct.includes(entry)) return 'direct';
    if (deferred.has(entry.name)) return 'deferred';
    return code.has(entry.name) ? 'code' : 'hidden';
  };
  return new Map(entries.map((entry) => [entry, { exposure: exposureIn(entry), tokens: tokensOf(entry) }]));
}

function identityOf(model: string) {
  return { provider: providerOf(model) ?? '', modelId: model.slice(model.indexOf('/') + 1) };
}

function rowOf({ name, capability, from, ownName }: JudgedTool, reason: string | undefined): ToolRow {
  const judgement = { capability, from, ...(ownName === undefined ? {} : { ownName }) };
  return { tool: name, ...judgement, allowed: reason === undefined, ...(reason ? { reason } : {}) };
}

export function toolTable(rows: readonly ToolRow[]): string[] {
  const showsExposure = rows.some(({ exposure }) => exposure);
  const exposure = (row: ToolRow) => (showsExposure ? [row.exposure ?? '', String(row.tokens ?? '')] : []);
  const table = columns([
    ['tool', 'capability', 'from', ...(showsExposure ? ['exposure', 'tokens'] : []), 'allowed'],
    ...rows.map((row) => [
      printable(row.tool),
      row.capability,
      row.from,
      ...exposure(row),
      row.allowed ? 'yes' : `no: ${row.reason}`,
    ]),
  ]);
  return [...table, ...(showsExposure ? [totals(rows)] : [])];
}

function totals(rows: readonly ToolRow[]): string {
  const count = (word: Exposure) => {
    const of = rows.filter(({ exposure }) => exposure === word);
    const tokens = of.reduce((sum, row) => sum + (row.tokens ?? 0), 0);
    return of.length > 0 ? [`${of.length} ${word} (about ${tokens.toLocaleString('en')} tokens)`] : [];
  };
  return [...count('direct'), ...count('deferred'), ...count('code'), ...count('hidden')].join(', ');
}

/** The description and argument schema of each named tool. */
export async function toolDetails(
  sources: readonly ToolSource[],
  names: readonly string[],
  signal: AbortSignal,
): Promise<string[]> {
  const lists = await Promise.all(joinSkills(sources).map((source) => source.listTools(signal)));
  return lists
    .flat()
    .filter(({ name }) => names.includes(name))
    .flatMap(({ name, description = 'No description.', inputSchema }) => [
      '',
      printable(name),
      printableText(description),
      printableText(JSON.stringify(inputSchema, null, 2)),
    ]);
}
