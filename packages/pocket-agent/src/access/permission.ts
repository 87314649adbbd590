// Whether a call may be made: the rules first, then the people who must be asked. What was decided goes in its record.

import { PocketError, snapshot, within } from '@pocket-agent/kit';
import type { RunFrame } from '../base/run-frame.ts';
import type { ToolEntry, ToolTable } from '../tools/tools.ts';
import type { CallRecord } from './audit.ts';
import { refusalIn } from './rights.ts';

export interface CallPlace {
  frame: RunFrame;
  /** What there is now: lists change while a step is on. */
  tableNow(): ToolTable | Promise<ToolTable>;
}

/** Why the rules do not let a call through. */
export function refusalByRules({ frame }: CallPlace, entry: ToolEntry, record: CallRecord): PocketError | undefined {
  const reason = refusalIn(frame, entry);
  if (reason === undefined) return undefined;
  enter(record, 'refused', 'profile', reason);
  return new PocketError('ACCESS_DENIED', `"${record.call.name}" may not be called here: ${reason}.`);
}

/** Why those who must be asked do not let a call through. A promise only when somebody must. */
export function refusalByPeople(
  place: CallPlace,
  entry: ToolEntry,
  record: CallRecord,
): undefined | Promise<PocketError | undefined> {
  if (place.frame.gate.mayAsk(place.frame)) return ask(place, entry, record);
  enter(record, 'allowed', 'policy');
  return undefined;
}

async function ask(place: CallPlace, entry: ToolEntry, record: CallRecord): Promise<PocketError | undefined> {
  const { frame } = place;
  const { call } = record;
  const denied = (by: CallRecord['by'], reason: string) => {
    enter(record, 'denied', by, reason);
    return new PocketError('ACCESS_DENIED', `"${call.name}" was not called: ${reason}.`);
  };
  enter(record, 'denied', 'nobody', 'the run ended before anybody answered');
  const decision = await frame.gate.decide(call, entry, frame);
  if (!decision.allowed && decision.by === 'policy') {
    const { code, reason } = decision;
    const isUnfit = code === 'TOOL_ARGUMENTS_INVALID';
    enter(record, 'refused', 'policy', isUnfit ? 'its arguments do not fit its schema' : reason);
    const text = isUnfit ? `Bad arguments for "${call.name}": ${reason}` : `"${call.name}" was not called: ${reason}.`;
    return new PocketError(code, text);
  }
  if (!decision.allowed) return denied(decision.by, decision.reason);
  const { by, edited } = decision;
  if (by === 'approver' && !(await isSame(place, entry))) {
    return denied(by, 'the tool changed while it was being approved');
  }
  const approved = edited ? 'edited' : 'approved';
  enter(record, by === 'approver' ? approved : 'allowed', by);
  record.call = snapshot({ ...call, arguments: decision.arguments });
  return undefined;
}

export function enter(
  record: CallRecord,
  decision: CallRecord['decision'],
  by: CallRecord['by'],
  reason?: string,
): void {
  record.decision = decision;
  record.by = by;
  record.reason = reason;
}

/** A question takes time, in which a server may put another tool in the place of the one that was approved. */
async function isSame({ frame, tableNow }: CallPlace, entry: ToolEntry): Promise<boolean> {
  const now = (await within(frame.signal, tableNow())).find(entry.name);
  if (!now || now.source !== entry.source || refusalIn(frame, now) !== undefined) return false;
  return JSON.stringify(now.tool) === JSON.stringify(entry.tool);
}
