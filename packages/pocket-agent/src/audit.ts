// A record of every call that was asked for: who, what, who decided, what came of it. Secrets are left out.
import { appendFile, mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Capability } from './access.ts';
import type { ToolCall } from './tools.ts';

export interface AuditRecord {
  time: string;
  agentId: string;
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
  reason?: string;
};

const DEEPEST = 20;
const secretKeys =
  /pass(word|phrase|wd)?$|pwd|secret|access[-_]?key|token|authorization|api[-_]?key|credential|cookie|private[-_]?key/i;

/** A copy of arguments that can be kept: what looks like a secret by its name, or matches a pattern, is left out. */
export function redact(value: unknown, patterns: readonly RegExp[], depth = 0): unknown {
  if (depth > DEEPEST) return '[too deep]';
  if (typeof value === 'string') {
    return patterns.reduce(
      (text, pattern) => text.replace(new RegExp(pattern, `${pattern.flags.replace(/[gy]/g, '')}g`), '[redacted]'),
      value,
    );
  }
  if (Array.isArray(value)) return value.map((item) => redact(item, patterns, depth + 1));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      secretKeys.test(key) ? '[redacted]' : redact(item, patterns, depth + 1),
    ]),
  );
}

/** JSON lines in a file, one after another however many calls run at once. */
export class AuditFile {
  readonly #path: string;
  #writing: Promise<void>;

  constructor(path: string) {
    this.#path = path;
    this.#writing = mkdir(dirname(path), { recursive: true }).then(() => {});
    this.#writing.catch(() => {}); // shows at the first write
  }

  write(record: AuditRecord): Promise<void> {
    const written = this.#writing.then(() => appendFile(this.#path, `${JSON.stringify(record)}\n`, { mode: 0o600 }));
    this.#writing = written.catch(() => {});
    return written;
  }

  written(): Promise<void> {
    return this.#writing;
  }
}
