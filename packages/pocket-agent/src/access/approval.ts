// Approvals: which calls need one, how the approver is asked, and which answers are valid.
import type { ToolAnnotations } from '@modelcontextprotocol/client';
import {
  abortable,
  deepCopy,
  errorText,
  isPocketError,
  isRecord,
  type Logger,
  oneOf,
  PocketError,
  printable,
  sha256,
  snapshot,
  startDeadline,
  warnOnce,
} from '@pocket-agent/kit';
import type { Capability, JudgedTool } from './capabilities.ts';

export const NO_APPROVER = 'it needs approval, and there is no approver';

export const confirmWords = ['never', 'destructive', 'write', 'always'] as const;
/** For error messages. */
export const confirmMeanings =
  'never, destructive (for tools that can delete), write (for tools that do more than read), always';

/** destructive: tools that can delete. write: tools that do more than read. A function asks unless it returns false. */
export type ConfirmPolicy =
  | (typeof confirmWords)[number]
  | ((tool: JudgedTool, args: Record<string, unknown>) => boolean);

export const confirmRule = {
  expected: `a function, or one of ${confirmMeanings}`,
  accepts: (value: unknown) => typeof value === 'function' || confirmWords.some((word) => word === value),
};

/** A call that needs a decision, with the facts that a person needs for it. */
export interface ApprovalRequest {
  tool: string;
  /** The MCP server or tool folder that the tool is from, if it has one. */
  server?: string;
  capability: Capability;
  description: string | undefined;
  annotations: ToolAnnotations | undefined;
  arguments: Record<string, unknown>;
  toolCallId: string;
  /** Names from the agent that was called first down to the one that makes the call. */
  path: readonly string[];
  /** Hash of path, tool and arguments: an answer with this hash is valid for this call only. */
  hash: string;
  /** Whether the definition of the tool has changed since it was first seen. */
  changed: boolean;
  /** True if the answer may be `later`: the run can be resumed, as its conversation has a journal. */
  canWait?: true;
  /** Aborted with the run, or when the time for an answer is over. */
  signal: AbortSignal;
}

/** The call that an approval is about. */
export type CallToApprove = Omit<ApprovalRequest, 'hash' | 'signal'>;

/** The call of a question that was saved with its run, as approvers see it. */
export function savedRequest({ hash, call }: { hash: string; call: SavedCall }): ApprovalRequest {
  const { description, capability, ...rest } = call;
  const signal = new AbortController().signal;
  return { ...rest, capability: capability as Capability, description, annotations: undefined, hash, signal };
}

interface SavedCall extends Omit<CallToApprove, 'capability' | 'description' | 'annotations' | 'canWait'> {
  capability: string;
  description?: string;
}

/** Why there was no answer: there is no approver, or it took too long. */
export type Unanswered = 'no-approver' | 'timeout';

/** The return value of `approve`: the decision about one call. */
export type ApprovalAnswer =
  | 'allow'
  | 'deny'
  /** The run ends with `RUN_SUSPENDED`, and `resume()` asks again. */
  | 'later'
  /** `by`: the denial does not come from a person. */
  | { deny: string; by?: Unanswered; hash?: string }
  /** `allow` may be an object with different arguments for the call. */
  | { allow: true | Record<string, unknown>; remember?: Remember; hash?: string };

/** call: for the same call with the same arguments. conversation: for this tool until the history is reset. */
export type Remember = 'call' | 'conversation';

/** Decides about each call that `confirm` selects, also about calls of sub-agents. */
export type Approve = (request: ApprovalRequest) => ApprovalAnswer | Promise<ApprovalAnswer>;

/** Who approves calls of a served agent. */
export type ServedApprovals = 'caller' | 'own';

export const servedApprovalsRule = oneOf('caller', 'own');

/** By default the caller is asked only if the agent has no `approve` of its own. */
export function servedApproval(
  approvals: ServedApprovals | undefined,
  caller: Approve,
): { approve?: Approve; approveFallback?: Approve } {
  if (approvals === undefined) return { approveFallback: caller };
  return approvals === 'caller' ? { approve: caller } : {};
}

export type Decision = Approval | Denial;

interface Approval {
  allowed: true;
  arguments: Record<string, unknown>;
  edited: boolean;
  remember?: Remember | undefined;
}

interface Denial {
  allowed: false;
  by: 'approver' | Unanswered;
  reason: string;
}

export function needsApproval(policy: ConfirmPolicy, tool: JudgedTool, args: Record<string, unknown>): boolean {
  if (typeof policy === 'function') return policy(tool, args) !== false; // asks if a `return` was forgotten
  if (policy === 'destructive') return tool.capability === 'delete';
  return policy === 'always' || (policy === 'write' && tool.capability !== 'read');
}

export function callHash({ path, tool, arguments: args }: Pick<CallToApprove, 'path' | 'tool' | 'arguments'>): string {
  return sha256(JSON.stringify([path, tool, sorted(args)]));
}

interface Question {
  about: CallToApprove;
  approve: Approve | undefined;
  signal: AbortSignal;
  timeoutMs: number;
  logger: Logger;
}

/** Asks once. No answer in time, or an invalid answer, denies the call. */
export async function ask({ about, approve, signal, timeoutMs, logger }: Question): Promise<Decision> {
  if (!approve) return denial(NO_APPROVER, 'no-approver');
  const hash = callHash(about);
  const deadline = startDeadline({ what: `The approval of "${about.tool}"`, signals: [signal], timeoutMs });
  const request: ApprovalRequest = { ...deepCopy(about), hash, signal: deadline.signal };
  try {
    const answer = await abortable(Promise.resolve(approve(request)), deadline.signal);
    if (answer === 'later' && about.canWait) throw suspendedFor(about.tool);
    const decision = readApproval(answer, hash, about.arguments);
    if (decision) return decision;
    const problem = invalidAnswerText(answer);
    // once for each type of answer
    const key = answer === null ? 'null' : typeof answer;
    warnOnce({ logger, about: approve, key, text: `"${about.tool}" was not called: ${problem}.` });
    return denial(`it was not approved: ${problem}`);
  } catch (error) {
    signal.throwIfAborted();
    if (isPocketError(error, 'RUN_SUSPENDED')) throw error;
    if (deadline.signal.aborted) return denial(`it was not approved within ${timeoutMs} ms`, 'timeout');
    return denial(`approve() failed: ${errorText(error)}`);
  } finally {
    deadline.release();
  }
}

/** Undefined for an invalid answer. Throws for arguments that are not JSON. */
function readApproval(answer: ApprovalAnswer, hash: string, args: Record<string, unknown>): Decision | undefined {
  if (answer === 'allow') return { allowed: true, arguments: args, edited: false };
  if (answer === 'deny') return denial('it was not approved');
  if (answer === 'later') return denial('the approver answers later, and this call cannot wait');
  if (typeof answer !== 'object' || answer === null) return undefined;
  if (answer.hash !== undefined && answer.hash !== hash) return denial('the approval was for another call');
  if ('deny' in answer) return denial(answer.deny || 'it was not approved', answer.by);
  const { allow, remember } = answer;
  if (allow === true) return { allowed: true, arguments: args, edited: false, remember };
  if (!isRecord(allow)) return undefined;
  JSON.stringify(allow); // throws for a BigInt or a circle
  return { allowed: true, arguments: snapshot(allow), edited: true, remember };
}

function denial(reason: string, by: Denial['by'] = 'approver'): Denial {
  return { allowed: false, by, reason };
}

function suspendedFor(tool: string): PocketError {
  const text = `The run waits for the approval of "${printable(tool, 100)}": resume it when there is an answer.`;
  return new PocketError('RUN_SUSPENDED', text);
}

function invalidAnswerText(answer: unknown): string {
  const given = JSON.stringify(answer)?.slice(0, 80);
  return `approve() returned ${given}; it must return 'allow', 'deny', { allow: true } or { deny: 'why' }`;
}

/** A copy with sorted keys: the order of arguments does not matter. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, sorted(item)]));
}
