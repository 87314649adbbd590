// A record of every call that was asked for: who, what, who decided, what came of it. Secrets are left out.
import { appendFile, mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorText, type Logger } from '@pocket-agent/kit';
import type { RunFrame } from '../base/run-frame.ts';
import type { ToolCall } from '../tools/tools.ts';
import type { Capability } from './access.ts';
import type { Gate } from './gate.ts';

export interface AuditRecord {
  time: string;
  agentId: string;
  /** For whom the agent worked: who called it from outside, or what the run was told. */
  caller?: string;
  path: readonly string[];
  toolCallId: string;
  tool: string;
  capability: Capability | undefined;
  arguments: unknown;
  decision: 'allowed' | 'approved' | 'edited' | 'refused' | 'denied';
  /** The rule or person that decided. */
  by: 'profile' | 'policy' | 'memory' | 'approver' | 'nobody' | 'timeout' | 'hook';
  reason?: string;
  outcome: 'done' | 'failed' | 'not run';
  durationMs: number;
}

/** What the gate said of a call, and what came of it. */
export type CallRecord = Pick<AuditRecord, 'decision' | 'by' | 'capability' | 'outcome' | 'durationMs'> & {
  call: ToolCall;
  reason: string | undefined;
};

const DEEPEST = 20;
const REDACTED = '[redacted]';
const secretKeys =
  /pass$|password|passphrase|passwd|pwd|secret|bearer|access[-_]?key|token|authorization|api[-_]?key|credential|cookie|private[-_]?key/i;

/** A copy of arguments that can be kept: without what is named like a secret, and what matches by name or in its text. */
export function redact(value: unknown, patterns: readonly RegExp[], depth = 0): unknown {
  if (depth > DEEPEST) return '[too deep]';
  if (typeof value === 'string') return redactText(value, patterns);
  if (Array.isArray(value)) return value.map((item) => redact(item, patterns, depth + 1));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      redactText(key, patterns, isSpelledOut),
      secretKeys.test(key) || redactText(key, patterns) !== key ? REDACTED : redact(item, patterns, depth + 1),
    ]),
  );
}

type Keeps = (found: string, pattern: RegExp) => boolean;

/** A pattern that spells out the name of a field means that name; one that only describes it may have found a secret. */
const isSpelledOut: Keeps = (found, { source }) => source.toLowerCase().includes(found.toLowerCase());

function redactText(text: string, patterns: readonly RegExp[], keeps: Keeps = () => false): string {
  const global = ({ flags }: RegExp) => `${flags.replace(/[gy]/g, '')}g`;
  return patterns.reduce(
    (left, pattern) =>
      left.replace(new RegExp(pattern, global(pattern)), (found) => (keeps(found, pattern) ? found : REDACTED)),
    text,
  );
}

/** What an agent knows of a call, as a record that can be kept: in the files of this agent and of those above. */
export function recordCall(
  frame: RunFrame,
  agentId: string,
  { call, reason, ...decided }: CallRecord,
  logger: Logger,
): AuditRecord {
  const gates = gatesAbove(frame);
  const patterns = gates.flatMap((gate) => gate.redacts);
  // the tool has run, and its result must not be lost for want of a record
  const orNothing = <Value>(keep: () => Value): Value | typeof REDACTED => {
    try {
      return keep();
    } catch (error) {
      logger.error(`The audit record of "${call.name}" leaves out what could not be redacted: ${errorText(error)}`);
      return REDACTED;
    }
  };
  const record: AuditRecord = {
    time: new Date().toISOString(),
    agentId,
    ...(frame.caller === undefined ? {} : { caller: frame.caller }),
    path: frame.path,
    toolCallId: call.id,
    tool: call.name,
    arguments: orNothing(() => redact(call.arguments, patterns)),
    ...decided,
    ...(reason === undefined ? {} : { reason: orNothing(() => redactText(reason, patterns)) }),
  };
  // agents that share a file have one line for a call in it
  const files = new Map(gates.flatMap(({ audit }) => (audit ? [[audit.path, audit]] : [])));
  for (const file of files.values()) {
    file.write(record).catch((error) => logger.error(`An audit record could not be written: ${errorText(error)}`));
  }
  return record;
}

export function keepsRecords(frame: RunFrame): boolean {
  for (let above: RunFrame | undefined = frame; above; above = above.parent) if (above.gate.audit) return true;
  return false;
}

/** All gates from a frame up, each once. */
function gatesAbove(frame: RunFrame): Gate[] {
  const gates = new Set<Gate>();
  for (let above: RunFrame | undefined = frame; above; above = above.parent) gates.add(above.gate);
  return [...gates];
}

/** JSON lines in a file, one after another however many calls run at once. */
export class AuditFile {
  readonly path: string;
  #writing: Promise<void>;

  constructor(path: string) {
    this.path = path;
    this.#writing = mkdir(dirname(path), { recursive: true }).then(() => {});
    this.#writing.catch(() => {}); // shows at the first write
  }

  write(record: AuditRecord): Promise<void> {
    const line = `${JSON.stringify(record)}\n`;
    const written = this.#writing.then(() => appendFile(this.path, line, { mode: 0o600 }));
    this.#writing = written.catch(() => {});
    return written;
  }

  written(): Promise<void> {
    return this.#writing;
  }
}
