// The gate before every tool call of an agent: its profile and those of the agents above, and the approvals they want.
import { type JudgedTool, type Profile, type ProfileName, readProfile, refusalBy } from './access.ts';
import {
  type Approve,
  ask,
  type ConfirmPolicy,
  callHash,
  type Decision,
  needsApproval,
  type Remember,
} from './approval.ts';
import { AuditFile, type AuditRecord, type CallRecord, redact } from './audit.ts';
import { errorText } from './errors.ts';
import { Fingerprints } from './fingerprints.ts';
import type { Logger } from './logger.ts';
import type { RunFrame } from './run-frame.ts';
import type { ToolCall, ToolTable } from './tools.ts';

export interface AccessOptions {
  /** Tools outside of it are neither shown to the model nor callable. Default: all are allowed. */
  profile?: ProfileName | Profile;
  /** A tool must also pass this. */
  filter?: (tool: JudgedTool) => boolean;
  /** Which calls need a yes. Default never. */
  confirm?: ConfirmPolicy;
  /** How long a plain yes lasts. Default: for that one call. */
  remember?: Remember;
  /** A question that nobody answers for so long is answered with no. Default 300,000. */
  approvalTimeoutMs?: number;
  /** A sub-agent has no more rights than its parent, and asks where its parent would, unless this is true. */
  independent?: boolean;
  /** Keeps what tools looked like when they were first seen. */
  fingerprintFile?: string;
  /** JSON lines: one for every call that was asked for. */
  auditFile?: string;
  /** What must not stand in audit records, beside what is named like a secret. */
  redact?: readonly RegExp[];
}

const DEFAULT_APPROVAL_MS = 300_000;

export class Gate {
  readonly independent: boolean;
  readonly profile: Profile | undefined;
  readonly #options: AccessOptions;
  readonly #fingerprints: Fingerprints;
  readonly #audit: AuditFile | undefined;
  readonly #remembered = new Set<string>();

  constructor(options: AccessOptions) {
    this.#options = { ...options };
    this.profile = options.profile === undefined ? undefined : readProfile(options.profile);
    this.#fingerprints = new Fingerprints(options.fingerprintFile);
    this.#audit = options.auditFile === undefined ? undefined : new AuditFile(options.auditFile);
    this.independent = options.independent ?? false;
  }

  get isOpen(): boolean {
    return this.profile === undefined && !this.hasFilter;
  }

  get hasFilter(): boolean {
    return this.#options.filter !== undefined;
  }

  refusal(tool: JudgedTool): string | undefined {
    const reason = this.profile && refusalBy(this.profile, tool);
    if (reason !== undefined) return reason;
    return this.#options.filter && this.#options.filter(tool) !== true
      ? 'the filter of the agent leaves it out'
      : undefined;
  }

  /** Takes note of tools, and tells which are not what they were when they were first seen. */
  look(tools: Iterable<JudgedTool>): string[] {
    return this.#fingerprints.look(tools);
  }

  forget(): void {
    this.#remembered.clear();
  }

  get redacts(): readonly RegExp[] {
    return this.#options.redact ?? [];
  }

  get keepsRecords(): boolean {
    return this.#audit !== undefined;
  }

  record(record: AuditRecord): Promise<void> | undefined {
    return this.#audit?.write(record);
  }

  /** Resolves when every record is in the file. */
  async close(): Promise<void> {
    await this.#audit?.written();
  }

  /** Asks whoever must be asked; the arguments of the answer are the ones to call with. */
  async decide(call: ToolCall, tool: JudgedTool, frame: RunFrame): Promise<Decision> {
    const policies = gatesOf(frame).map(({ gate }) => gate.#options.confirm ?? 'never');
    if (policies.every((policy) => policy === 'never')) return this.#yes(call);
    const changed = this.#fingerprints.hasChanged(tool.name, tool.tool);
    const asked = policies.some((policy) => needsApproval(policy, tool, call.arguments));
    if (!asked && !changed) return this.#yes(call);
    const once = `call\0${callHash(frame.path, tool.name, call.arguments)}`;
    const always = `conversation\0${frame.path.join('/')}\0${tool.name}`;
    // kept by the agent that people talk to: a yes to one is none to another
    const remembered = rootOf(frame).gate.#remembered;
    if (changed) {
      remembered.delete(once);
      remembered.delete(always);
    }
    if (remembered.has(once) || remembered.has(always)) return { ...this.#yes(call), by: 'memory' };
    const { approvalTimeoutMs: timeoutMs = DEFAULT_APPROVAL_MS } = this.#options;
    const { path, signal } = frame;
    const decision = await ask({ tool, call, path, changed, approve: approverOf(frame), signal, timeoutMs });
    if (!decision.allowed) return decision;
    if (changed) this.#fingerprints.accept(tool.name, tool.tool);
    const remember = decision.remember ?? this.#options.remember;
    if (remember && !decision.edited) remembered.add(remember === 'call' ? once : always);
    return decision;
  }

  #yes(call: ToolCall): Decision & { allowed: true } {
    return { allowed: true, by: 'policy', arguments: call.arguments, edited: false };
  }
}

/** Why the agent of a frame, or one above it, may not call a tool. */
export function refusalIn(frame: RunFrame, tool: JudgedTool): string | undefined {
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
  const byName = new Map([...table.byName].filter(([, entry]) => refusalIn(frame, entry) === undefined));
  return { byName, definitions: table.definitions.filter(({ name }) => byName.has(name)) };
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

function rootOf(frame: RunFrame): RunFrame {
  return frame.parent ? rootOf(frame.parent) : frame;
}

/** The frames whose rules hold: from this one up, to the first that is independent. */
function gatesOf(frame: RunFrame): RunFrame[] {
  const found: RunFrame[] = [];
  for (let above: RunFrame | undefined = frame; above; above = above.parent) {
    const below = found.at(-1);
    if (below && below.owner !== above.owner && below.gate.independent) break;
    found.push(above);
  }
  return found;
}

/** The first agent that was called is the one people talk to: its approver is asked, else the next one down. */
export function approverOf(frame: RunFrame): Approve | undefined {
  let found: Approve | undefined;
  for (let above: RunFrame | undefined = frame; above; above = above.parent) found = above.approve ?? found;
  return found;
}

/** All gates from a frame up, each once. */
function gatesAbove(frame: RunFrame): Set<Gate> {
  const gates = new Set<Gate>();
  for (let above: RunFrame | undefined = frame; above; above = above.parent) gates.add(above.gate);
  return gates;
}

/** What an agent knows of a call, as a record that can be kept: in the files of this agent and of those above. */
export function recordCall(
  frame: RunFrame,
  agentId: string,
  { call, ...decided }: CallRecord,
  logger: Logger,
): AuditRecord {
  const gates = [...gatesAbove(frame)];
  const record: AuditRecord = {
    time: new Date().toISOString(),
    agentId,
    path: frame.path,
    toolCallId: call.id,
    tool: call.name,
    arguments: redact(
      call.arguments,
      gates.flatMap((gate) => gate.redacts),
    ),
    ...decided,
  };
  for (const gate of gates) {
    gate.record(record)?.catch((error) => logger.error(`An audit record could not be written: ${errorText(error)}`));
  }
  return record;
}

export function keepsRecords(frame: RunFrame): boolean {
  return [...gatesAbove(frame)].some((gate) => gate.keepsRecords);
}
