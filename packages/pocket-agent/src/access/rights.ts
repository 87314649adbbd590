// What may be seen and called in a run: by the rules of its agent and those above, and what the run was narrowed to.

import type { RunFrame } from '../base/run-frame.ts';
import type { ToolTable } from '../tools/tools.ts';
import { type JudgedTool, type Profile, refusalBy } from './access.ts';
import type { Gate } from './gate.ts';

/** What a run gets from the code that starts it. */
export interface Inheritance extends Pick<RunFrame, 'approve' | 'approveFallback'> {
  /** The rules from here up hold. */
  parent: RunFrame | undefined;
  /** The run that is going on around it, if one is. */
  around: RunFrame | undefined;
}

/** Of runs that are over only rules are left, once for each agent: nothing grows, however often one leads to another. */
export function inheritanceOf(last: RunFrame | undefined): Inheritance {
  if (!last?.finished) return { parent: last, around: last, approve: undefined, approveFallback: undefined };
  const ended = new Map<Gate, RunFrame>();
  let approve: RunFrame['approve'];
  let approveFallback: RunFrame['approveFallback'];
  let around: RunFrame | undefined = last;
  for (; around?.finished; around = around.parent) {
    approve = around.approve ?? approve;
    approveFallback = around.approveFallback ?? approveFallback;
    const profiles = different([...(ended.get(around.gate)?.profiles ?? []), ...around.profiles]);
    ended.set(around.gate, { ...around, profiles, approve: undefined, approveFallback: undefined });
  }
  const parent = [...ended.values()].reduceRight<RunFrame | undefined>(
    (above, frame) => ({ ...frame, parent: above }),
    around,
  );
  return { parent, around, approve, approveFallback };
}

function different(profiles: readonly Profile[]): Profile[] {
  return [...new Map(profiles.map((profile) => [JSON.stringify(profile), profile])).values()];
}

/** The frames whose rules hold: from this one up, to the first that is independent. */
export function gatesOf(frame: RunFrame): RunFrame[] {
  const found: RunFrame[] = [];
  for (let above: RunFrame | undefined = frame; above; above = above.parent) {
    const below = found.at(-1);
    if (below && below.owner !== above.owner && below.gate.independent) break;
    found.push(above);
  }
  return found;
}

/** Why the agent of a frame, or one above it, may not call a tool. */
export function refusalIn(frame: RunFrame, tool: JudgedTool): string | undefined {
  if (isOpen(frame)) return undefined;
  for (const { gate, owner } of gatesOf(frame)) {
    const reason = gate.refusal(tool);
    if (reason !== undefined) return owner === frame.owner ? reason : `${reason} (for an agent above this one)`;
  }
  // what a run was narrowed to holds for all in it
  for (let above: RunFrame | undefined = frame; above; above = above.parent) {
    for (const profile of above.profiles) {
      const reason = refusalBy(profile, tool);
      if (reason !== undefined) return `${reason} (in this run)`;
    }
  }
  return undefined;
}

const visibleTables = new WeakMap<ToolTable, { rules: readonly Profile[]; visible: ToolTable }>();

/** The tools of a table that may be seen in a frame. Worked out once for the same rules, unless a filter is among them. */
export function visibleIn(frame: RunFrame, table: ToolTable): ToolTable {
  if (isOpen(frame)) return table;
  const rules = profilesOf(frame);
  const known = visibleTables.get(table);
  if (rules && known?.rules.length === rules.length && known.rules.every((rule, index) => rule === rules[index]))
    return known.visible;
  const visible = keepVisible(frame, table);
  if (rules) visibleTables.set(table, { rules, visible });
  return visible;
}

function keepVisible(frame: RunFrame, table: ToolTable): ToolTable {
  return table.filter((entry) => refusalIn(frame, entry) === undefined);
}

/** Undefined when a filter decides too: it may answer differently each time. */
function profilesOf(frame: RunFrame): readonly Profile[] | undefined {
  const gates = gatesOf(frame).map(({ gate }) => gate);
  if (gates.some((gate) => gate.hasFilter)) return undefined;
  const found = gates.flatMap((gate) => gate.profile ?? []);
  for (let above: RunFrame | undefined = frame; above; above = above.parent) found.push(...above.profiles);
  return found;
}

function isOpen(frame: RunFrame): boolean {
  for (let above: RunFrame | undefined = frame; above; above = above.parent) {
    if (!above.gate.isOpen || above.profiles.length > 0) return false;
  }
  return true;
}
