// Audit records: every call the model asked for, who decided, and the outcome. Secrets are redacted.
import { appendFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorText, type Logger, makeFolder } from '@pocket-agent/kit';
import { REDACTED, redact, redactText } from '../base/redact.ts';
import type { ToolCall } from '../base/tool-call.ts';
import type { Unanswered } from './approval.ts';
import type { Capability } from './capabilities.ts';

/** One line of the audit: a call, the decision about it, who made that decision, and the outcome. */
export interface AuditRecord {
  time: string;
  agentId: string;
  /** On whose behalf the agent worked: the remote caller, or `caller` of the run. */
  caller?: string;
  path: readonly string[];
  toolCallId: string;
  tool: string;
  capability: Capability | undefined;
  arguments: unknown;
  decision: 'allowed' | 'approved' | 'edited' | 'refused' | 'denied';
  /** The rule or person that decided. `profile` also stands for filters and for tools that do not exist. */
  by: 'profile' | 'policy' | 'memory' | 'approver' | Unanswered | 'hook';
  reason?: string;
  outcome: 'done' | 'failed' | 'not run';
  durationMs: number;
  /** How the call was made, if a tool made it: `code`. */
  via?: string;
}

/** The decision about a call, and its outcome. */
export type CallRecord = Pick<AuditRecord, 'decision' | 'by' | 'capability' | 'outcome' | 'durationMs' | 'via'> & {
  call: ToolCall;
  reason: string | undefined;
};

interface RecordedRun {
  agentId: string;
  caller: string | undefined;
  path: readonly string[];
  /** Text that records leave out. */
  patterns: readonly RegExp[];
  logger: Logger;
}

/** Never throws: the tool has run, so its result must not be lost because a record cannot be made. */
export function auditRecord({ call, reason, ...decided }: CallRecord, run: RecordedRun): AuditRecord {
  const { agentId, caller, path, patterns, logger } = run;
  const redactedOnError = <Value>(keep: () => Value): Value | typeof REDACTED => {
    try {
      return keep();
    } catch (error) {
      logger.error(`The audit record of "${call.name}" leaves out what could not be redacted: ${errorText(error)}`);
      return REDACTED;
    }
  };
  return {
    time: new Date().toISOString(),
    agentId,
    ...(caller === undefined ? {} : { caller }),
    path,
    toolCallId: call.id,
    tool: call.name,
    arguments: redactedOnError(() => redact(call.arguments, patterns)),
    ...decided,
    ...(reason === undefined ? {} : { reason: redactedOnError(() => redactText(reason, patterns)) }),
  };
}

/** A file of JSON lines; records of parallel calls are written one after another. */
export class AuditFile {
  readonly path: string;
  #writing: Promise<void>;

  constructor(path: string) {
    this.path = path;
    this.#writing = makeFolder(dirname(path));
    this.#writing.catch(() => {}); // shows at the first write
  }

  write(record: AuditRecord): Promise<void> {
    // inside `then`: a record that cannot be written as JSON rejects, too
    const written = this.#writing.then(() => appendFile(this.path, `${JSON.stringify(record)}\n`, { mode: 0o600 }));
    this.#writing = written.catch(() => {});
    return written;
  }

  written(): Promise<void> {
    return this.#writing;
  }
}
