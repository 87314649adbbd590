// Approvals: which calls need one, how the approver is asked, and which answers are valid.
import type { ToolAnnotations } from '@modelcontextprotocol/client';
import {
  abortable,
  deepCopy,
  errorText,
  type Logger,
  PocketError,
  sha256,
  snapshot,
  startDeadline,
} from '@pocket-agent/kit';
import type { Capability, JudgedTool } from './access.ts';

export const NOBODY_TO_ASK = 'it needs approval, and there is nobody to ask';

/** destructive: tools that can delete. write: all tools that do more than read. */
export type ConfirmPolicy =
  | 'never'
  | 'destructive'
  | 'write'
  | 'always'
  | ((tool: JudgedTool, args: Record<string, unknown>) => boolean);

export interface ApprovalRequest {
  tool: string;
  capability: Capability;
  description: string | undefined;
  annotations: ToolAnnotations | undefined;
  arguments: Record<string, unknown>;
  toolCallId: string;
  /** Names from the agent that was called first down to the one that makes the call. */
  path: readonly string[];
  /** Of path, tool and arguments: an answer with this hash is valid for this call only. */
  hash: string;
  /** Whether the definition of the tool has changed since it was first seen. */
  changed: boolean;
  /** Aborted with the run, or when the time for an answer is over. */
  signal: AbortSignal;
}

export type ApprovalAnswer =
  | 'allow'
  | 'deny'
  /** `by`: the denial does not come from a person. */
  | { deny: string; by?: 'nobody' | 'timeout'; hash?: string }
  /** `allow` may be an object with different arguments for the call. */
  | { allow: true | Record<string, unknown>; remember?: Remember; hash?: string };

/** call: for the same call with the same arguments. conversation: for this tool until the history is reset. */
export type Remember = 'call' | 'conversation';

export type Approve = (request: ApprovalRequest) => ApprovalAnswer | Promise<ApprovalAnswer>;

/** Who approves calls of a served agent. */
export type ServedApprovals = 'caller' | 'own';

export function checkServedApprovals(approvals: unknown): void {
  if (approvals === undefined || approvals === 'caller' || approvals === 'own') return;
  throw new PocketError('CONFIG_INVALID', `approvals of a server must be caller or own, not "${approvals}".`);
}

/** By default the caller is asked only if the agent has no `approve` of its own. */
export function servedApproval(
  approvals: ServedApprovals | undefined,
  caller: Approve,
): { approve?: Approve; approveFallback?: Approve } {
  if (approvals === undefined) return { approveFallback: caller };
  return approvals === 'caller' ? { approve: caller } : {};
}

export type Decision =
  | {
      allowed: true;
      by: 'policy' | 'memory' | 'approver';
      arguments: Record<string, unknown>;
      edited: boolean;
      remember?: Remember;
    }
  | { allowed: false; by: 'approver' | 'nobody' | 'timeout'; reason: string };

export function needsApproval(policy: ConfirmPolicy, tool: JudgedTool, args: Record<string, unknown>): boolean {
  switch (policy) {
    case 'never':
      return false;
    case 'destructive':
      return tool.capability === 'delete';
    case 'write':
      return tool.capability !== 'read';
    case 'always':
      return true;
    default:
      return policy(tool, args);
  }
}

export function callHash(path: readonly string[], tool: string, args: Record<string, unknown>): string {
  return sha256(JSON.stringify([path, tool, sorted(args)]));
}

export interface Question {
  about: Omit<ApprovalRequest, 'hash' | 'signal'>;
  approve: Approve | undefined;
  signal: AbortSignal;
  timeoutMs: number;
  logger: Logger;
}

/** Asks once. No answer in time, or an invalid answer, denies the call. */
export async function ask({ about, approve, signal, timeoutMs, logger }: Question): Promise<Decision> {
  if (!approve) {
    return { allowed: false, by: 'nobody', reason: NOBODY_TO_ASK };
  }
  const { tool, path, arguments: args } = about;
  const hash = callHash(path, tool, args);
  const deadline = startDeadline(`The approval of "${tool}"`, [signal], timeoutMs);
  const request: ApprovalRequest = { ...deepCopy(about), hash, signal: deadline.signal };
  try {
    const answer = await abortable(Promise.resolve(approve(request)), deadline.signal);
    const decision = readAnswer(answer, hash, args);
    if (decision) return decision;
    const reason = `it was not approved: ${noAnswerText(answer)}`;
    if (isNewMistake(approve, answer)) logger.warn(`"${tool}" was not called: ${noAnswerText(answer)}.`);
    return { allowed: false, by: 'approver', reason };
  } catch (error) {
    signal.throwIfAborted();
    if (deadline.signal.aborted) {
      return { allowed: false, by: 'timeout', reason: `nobody answered within ${timeoutMs} ms` };
    }
    return { allowed: false, by: 'approver', reason: `asking failed: ${errorText(error)}` };
  } finally {
    deadline.release();
  }
}

/** Undefined for an invalid answer. */
function readAnswer(answer: ApprovalAnswer, hash: string, args: Record<string, unknown>): Decision | undefined {
  if (answer === 'allow') return { allowed: true, by: 'approver', arguments: args, edited: false };
  if (answer === 'deny') return { allowed: false, by: 'approver', reason: 'it was not approved' };
  if (typeof answer !== 'object' || answer === null) return undefined;
  if (answer.hash !== undefined && answer.hash !== hash) {
    return { allowed: false, by: 'approver', reason: 'the approval was for another call' };
  }
  if ('deny' in answer)
    return { allowed: false, by: answer.by ?? 'approver', reason: answer.deny || 'it was not approved' };
  const { allow, remember } = answer;
  const edited = typeof allow === 'object' && allow !== null && !Array.isArray(allow);
  if (!edited && allow !== true) return undefined;
  return {
    allowed: true,
    by: 'approver',
    arguments: edited ? snapshot(allow) : args,
    edited,
    ...(remember ? { remember } : {}),
  };
}

function noAnswerText(answer: unknown): string {
  const given = JSON.stringify(answer)?.slice(0, 80);
  return `approve answered ${given}, and the answers are 'allow', 'deny', { allow: true } and { deny: 'why' }`;
}

/** The types of invalid answers that an approver gave so far: the developer is warned once for each. */
const mistakes = new WeakMap<Approve, Set<string>>();

function isNewMistake(approve: Approve, answer: unknown): boolean {
  const known = mistakes.get(approve) ?? new Set();
  mistakes.set(approve, known);
  return known.size < known.add(answer === null ? 'null' : typeof answer).size;
}

/** With sorted keys: the order of arguments does not matter. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, item]) => [key, sorted(item)]),
  );
}
