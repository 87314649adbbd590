// What a caller is told of a call, and what is written down of it.
import { hash } from 'node:crypto';
import type { CallFailure } from '../base/call-failure.ts';
import { cleanLine } from '../base/clean-text.ts';
import type { CallErrorCode, CallRecord, CallRequest, CallResponse, TaskRequest } from '../base/types.ts';
import { type ResultLimits, resultOf, statusText } from './content/result.ts';
import { tokensOf } from './content/tokens.ts';
import type { Errand } from './errand.ts';
import { costOf } from './price.ts';
import type { Tickets } from './tickets.ts';

const MAX_NAME_LENGTH = 200;

interface AnswerOptions {
  limits: ResultLimits;
  tickets: Tickets;
  /** For a look at a task, which is then told of by its handle also when it is over: what was wanted of it. */
  action?: TaskRequest['action'];
}

export function answerOf(errand: Errand, failure: CallFailure | undefined, options: AnswerOptions): CallResponse {
  const { collected, redactor, caller, agentId, taskHandle } = errand;
  const { state, contextId, taskId } = collected;
  const problem = failure ? describe(errand, failure) : ended(errand, options);
  const result = failure && collected.isOver ? undefined : resultOf(collected, options.limits, redactor);
  const isCall = options.action === undefined; // looking at a task costs nothing
  const tokens = isCall ? tokensOf(collected, errand.inputTokens) : undefined;
  const cost = isCall ? finalCost(errand, tokens?.count) : undefined;
  const statusCode = failure?.statusCode ?? errand.peer?.statusCode;
  const question =
    state === 'input-required' || state === 'auth-required' ? statusText(collected, redactor) : undefined;
  const hasTask =
    taskId !== undefined && collected.message === undefined && (options.action !== undefined || !collected.isOver);
  return {
    success: problem === undefined,
    ...(result ? { result } : {}),
    ...(problem ? { error: problem.text, errorCode: problem.code } : {}),
    metadata: {
      responseTime: Math.round(errand.elapsedMs),
      ...(tokens ? { tokensUsed: tokens.count, ...(tokens.isEstimate ? { tokensEstimated: true } : {}) } : {}),
      ...(cost === undefined ? {} : { cost }),
      ...(statusCode === undefined ? {} : { statusCode }),
      retryCount: errand.retryCount,
      ...(failure?.retryAfterMs === undefined ? {} : { retryAfter: Math.ceil(failure.retryAfterMs / 1000) }),
    },
    ...(hasTask
      ? { task: { taskHandle, agentId, state: state ?? 'submitted', ...(question ? { question } : {}) } }
      : {}),
    ...(contextId !== undefined && /^[!-~]{1,256}$/.test(contextId) && redactor.redact(contextId) === contextId
      ? { contextId: options.tickets.sealContext(contextId, { caller: caller.id, agentId }) }
      : {}),
  };
}

export function recordOf(errand: Errand, response: CallResponse, request: CallRequest): CallRecord {
  const { success, result, errorCode, metadata } = response;
  const { responseTime, retryCount, statusCode, cost, tokensUsed, tokensEstimated } = metadata;
  return {
    callId: errand.callId,
    agentId: errand.agentId,
    caller: errand.caller.id,
    userAgentId: userAgentIn(request),
    startedAt: errand.startedAt,
    responseTime,
    success,
    errorCode,
    statusCode,
    retryCount,
    cost,
    tokensUsed,
    tokensEstimated,
    state: errand.collected.state,
    requestDigest: digest(request),
    ...(result ? { responseDigest: digest(result) } : {}),
  };
}

/** Callers may pass anything; values that are not names are left out. */
function userAgentIn({ metadata }: CallRequest): string | undefined {
  const given: unknown = metadata?.userAgentId;
  const name = typeof given === 'string' ? cleanLine(given, MAX_NAME_LENGTH) : '';
  return name === '' ? undefined : name;
}

function describe(errand: Errand, failure: CallFailure): { text: string; code: CallErrorCode } {
  const { redactor, label } = errand;
  const text = `${label === '' ? '' : `Agent "${label}": `}${failure.message}${outcome(errand, failure)}`;
  return { code: failure.code, text: redactor.redact(text) };
}

/** What has become of the task, where the reason does not say it. */
function outcome({ collected, isSent, mustEnd }: Errand, { code, isUntouched }: CallFailure): string {
  if (code === 'CANCELED') return '';
  if (collected.taskId !== undefined && !collected.isOver)
    return ' Its task goes on: use the taskHandle to wait for it or to cancel it.';
  if (mustEnd && collected.state === 'canceled') return ' Its task was canceled, since its cost is limited.';
  const isLost = isSent && (code === 'TIMEOUT' || code === 'UNREACHABLE') && !isUntouched;
  return isLost ? ' Whether it has done anything is not known.' : '';
}

/** A task that ended without what was asked for. */
function ended(
  { collected, redactor, label }: Errand,
  { action }: AnswerOptions,
): { text: string; code: CallErrorCode } | undefined {
  const { state } = collected;
  if (state === 'canceled' && action === 'cancel') return undefined;
  if (collected.message || (state !== 'failed' && state !== 'rejected' && state !== 'canceled')) return undefined;
  const said = statusText(collected, redactor)?.slice(0, 500);
  const text = `Agent "${label}": the task was ${state === 'failed' ? 'not done' : state}.${said ? ` It says: ${said}` : ''}`;
  return { code: state === 'canceled' ? 'CANCELED' : 'TASK_FAILED', text };
}

function finalCost(errand: Errand, tokens: number | undefined): number | undefined {
  const { agent, collected, deadline } = errand;
  const price = agent?.price;
  if (collected.state === undefined && collected.message === undefined) return undefined;
  const isStillCounting = !collected.isOver && (price?.perMinute || price?.perToken);
  const ms = Math.min(errand.elapsedMs, deadline.timeoutMs); // the moment in which it was canceled is not counted
  return isStillCounting ? undefined : costOf(price, { ms, tokens });
}

function digest(value: unknown): string {
  return hash('sha256', JSON.stringify(value));
}
