// Tables of tools: capability, its origin, and whether a profile allows the tool.

import { printable, printableText } from '@pocket-agent/kit';
import { type JudgedTool, type Judgement, judge, type ListWait, type Profile, type ToolSource } from 'pocket-agent';
import { joinSkills, refusalBy } from 'pocket-agent/internal';
import { columnWidths } from './markdown-table.ts';
import { padded } from './text-width.ts';

export interface ToolRow extends Judgement {
  tool: string;
  allowed: boolean;
  reason?: string;
}

interface ToolListing {
  sources: readonly ToolSource[];
  profile: Profile | undefined;
  signal: AbortSignal;
  wait?: ListWait;
}

export async function toolRows({ sources, profile, signal, wait = 'all' }: ToolListing): Promise<ToolRow[]> {
  const lists = await Promise.all(
    joinSkills(sources).map(async (source) => ({ source, tools: await source.listTools(signal, wait) })),
  );
  const refusalOf = (judged: JudgedTool) => profile && refusalBy(profile, judged);
  return lists.flatMap(({ source, tools }) => {
    const rows = tools.map((tool) => {
      const judged = { name: tool.name, tool, ...(source.judge?.(tool) ?? judge(tool)) };
      const choices = source.choices?.(tool)?.all;
      // a tool that offers choices can be called if one of them is allowed
      const reasons = (choices ?? [judged]).map(refusalOf);
      return { row: rowOf(judged, reasons.includes(undefined) ? undefined : reasons[0]), choices };
    });
    const choices = rows.find((each) => each.choices)?.choices ?? [];
    return [...rows.map(({ row }) => row), ...choices.map((choice) => rowOf(choice, refusalOf(choice)))];
  });
}

function rowOf({ name, tool: _definition, ...judgement }: JudgedTool, reason: string | undefined): ToolRow {
  return { tool: name, ...judgement, allowed: reason === undefined, ...(reason ? { reason } : {}) };
}

export function toolTable(rows: readonly ToolRow[]): string[] {
  return columns([
    ['tool', 'capability', 'from', 'allowed'],
    ...rows.map(({ tool, capability, from, allowed, reason }) => [
      printable(tool),
      capability,
      from,
      allowed ? 'yes' : `no: ${reason}`,
    ]),
  ]);
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

/** Rows of cells as lines with aligned columns. */
export function columns(rows: readonly (readonly string[])[]): string[] {
  const widths = columnWidths(rows.map((row) => row.slice(0, -1)));
  return rows.map((row) => row.map((cell, index) => padded(cell, widths[index] ?? 0)).join('  '));
}
