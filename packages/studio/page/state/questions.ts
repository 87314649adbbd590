// Which questions belong where.
import type { ApprovalQuestion, FormQuestion, Question } from '../../src/wire/wire.ts';

type Questions = ReadonlyMap<string, Question>;

/** Of a tool call: providers repeat the ids of calls in other runs. */
export function callKey(runId: string, toolCallId: string): string {
  return `${runId} ${toolCallId}`;
}

/** The call that an approval is about. */
export function askedCall({ durableRun, runId = '', path, toolCallId }: ApprovalQuestion): string {
  return callKey(durableRun === undefined ? runId : durableKey(durableRun, path), toolCallId);
}

/** In a durable run: names of sub-agents are joined by `/`, as in its journal. */
export function durableKey(id: string, path: readonly string[]): string {
  return [id, ...path.slice(1).map((name) => name.replaceAll('/', '%2F'))].join('/');
}

/** The approvals that calls wait for, by call. */
export function approvals(questions: Questions): Map<string, ApprovalQuestion> {
  const all = [...questions.values()].filter((question) => question.kind === 'approval');
  return new Map(all.map((question) => [askedCall(question), question]));
}

/** What servers ask in a chat. */
export function formsOf(questions: Questions, chatId: string | undefined): FormQuestion[] {
  const all = [...questions.values()].filter((question) => question.kind === 'form');
  return all.filter((question) => question.chatId === chatId);
}
