// The response of a call, and its record in the call log.
import { hash } from 'node:crypto';
import type { CallFailure } from '../base/call-failure.ts';
import type { CallRecord } from '../base/call-records.ts';
import type { CallErrorCode, CallRequest, CallResponse, TaskRequest } from '../base/calls.ts';
import { cleanLine } from '../base/clean-text.ts';
import { buildResult, type ResultLimits, statusText } from './content/result.ts';
import { tokensOf } from './content/tokens.ts';
import type { PendingCall } from './pending-call.ts';
import { costOf } from './price.ts';
import type { SignedIds } from './signed-ids.ts';

const MAX_NAME_LENGTH = 200;

interface ResponseOptions {
  limits: ResultLimits;
  signedIds: SignedIds;
  /** Set for requests about a task; their responses name the task even if it has ended. */
  action?: TaskRequest['action'];
}

export function buildResponse(
  pending: PendingCall,
  failure: CallFailure | undefined,
  options: ResponseOptions,
): CallResponse {
  const { collected, redactor, caller, agentId, taskHandle } = pending;
  const { state, contextId, taskId } = collected;
  const problem = failure ? failureProblem(pending, failure) : taskProblem(pending, options);
  const result = failure && collected.isOver ? undefined : buildResult(collected, options.limits, redactor);
  const isCall = options.action === undefined; // requests about a task cost nothing
  const tokens = isCall ? tokensOf(collected, pending.inputTokens) : undefined;
  const cost = isCall ? finalCost(pending, tokens?.count) : undefined;
  const statusCode = failure?.statusCode ?? pending.statusCode;
  const question =
    state === 'input-required' || state === 'auth-required' ? statusText(collected, redactor) : undefined;
  const hasTask =
    taskId !== undefined && collected.message === undefined && (options.action !== undefined || !collected.isOver);
  return {
    success: problem === undefined,
    ...(result ? { result } : {}),
    ...(problem ? { error: problem.text, errorCode: problem.code } : {}),
    metadata: {
      responseTime: Math.round(pending.elapsedMs),
      ...(tokens ? { tokensUsed: tokens.count, ...(tokens.isEstimate ? { tokensEstimated: true } : {}) } : {}),
      ...(cost === undefined ? {} : { cost }),
      ...(statusCode === undefined ? {} : { statusCode }),
      retryCount: pending.retryCount,
      ...(failure?.retryAfterMs === undefined ? {} : { retryAfter: Math.ceil(failure.retryAfterMs / 1000) }),
    },
    ...(hasTask
      ? { task: { taskHandle, agentId, state: state ?? 'submitted', ...(question ? { question } : {}) } }
      : {}),
    ...(contextId !== undefined && /^[!-~]{1,256}$/.test(contextId) && redactor.redact(contextId) === contextId
      ? { contextId: options.signedIds.sealContext(contextId, { caller: caller.id, agentId }) }
      : {}),
  };
}

export function buildRecord(pending: PendingCall, response: CallResponse, request: CallRequest): CallRecord {
  const { success, result, errorCode, metadata } = response;
  const { responseTime, retryCount, statusCode, cost, tokensUsed, tokensEstimated } = metadata;
  return {
    callId: pending.callId,
    agentId: pending.agentId,
    caller: pending.caller.id,
    userAgentId: userAgentIn(request),
    startedAt: pending.startedAt,
    responseTime,
    success,
    errorCode,
    statusCode,
    retryCount,
    cost,
    tokensUsed,
    tokensEstimated,
    state: pending.collected.state,
    requestDigest: digest(request),
    ...(result ? { responseDigest: digest(result) } : {}),
  };
}

/** Callers may pass any value; only names are recorded. */
function userAgentIn({ metadata }: CallRequest): string | undefined {
  const value: unknown = metadata?.userAgentId;
  const name = typeof value === 'string' ? cleanLine(value, MAX_NAME_LENGTH) : '';
  return name === '' ? undefined : name;
}

function failureProblem(pending: PendingCall, failure: CallFailure): { text: string; code: CallErrorCode } {
  const { redactor, label } = pending;
  const text = `${label === '' ? '' : `Agent "${label}": `}${failure.message}${outcomeText(pending, failure)}`;
  return { code: failure.code, text: redactor.redact(text) };
}

/** What happened to the task, as an addition to the reason of the failure. */
function outcomeText({ collected, isSent, mustEnd }: PendingCall, { code, isNotStarted }: CallFailure): string {
  if (code === 'CANCELED') return '';
  if (collected.taskId !== undefined && !collected.isOver)
    return ' Its task continues: use the taskHandle to wait for it or to cancel it.';
  if (mustEnd && collected.state === 'canceled') return ' Its task was canceled, because its cost is limited.';
  const isLost = isSent && (code === 'TIMEOUT' || code === 'UNREACHABLE') && !isNotStarted;
  return isLost ? ' It is unknown whether it has done anything.' : '';
}

/** The problem of a task that failed, was rejected or was canceled. */
function taskProblem(
  { collected, redactor, label }: PendingCall,
  { action }: ResponseOptions,
): { text: string; code: CallErrorCode } | undefined {
  const { state } = collected;
  if (state === 'canceled' && action === 'cancel') return undefined;
  if (collected.message || (state !== 'failed' && state !== 'rejected' && state !== 'canceled')) return undefined;
  const statement = statusText(collected, redactor)?.slice(0, 500);
  const text = `Agent "${label}": the task ${state === 'failed' ? state : `was ${state}`}.${statement ? ` It says: ${statement}` : ''}`;
  return { code: state === 'canceled' ? 'CANCELED' : 'TASK_FAILED', text };
}

function finalCost(pending: PendingCall, tokens: number | undefined): number | undefined {
  const { agent, collected, deadline } = pending;
  const price = agent?.price;
  if (collected.state === undefined && collected.message === undefined) return undefined;
  const isStillCounting = !collected.isOver && (price?.perMinute || price?.perToken);
  const ms = Math.min(pending.elapsedMs, deadline.timeoutMs); // without the time for canceling
  return isStillCounting ? undefined : costOf(price, { ms, tokens });
}

function digest(value: unknown): string {
  return hash('sha256', JSON.stringify(value));
}
