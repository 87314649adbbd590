// Which questions belong where.
import type { ApprovalQuestion, FormQuestion, Question } from '../../src/wire/wire.ts';

type Questions = ReadonlyMap<string, Question>;

/** The approval of a tool call. */
export function approvalOf(questions: Questions, toolCallId: string): ApprovalQuestion | undefined {
  return approvals(questions).find((question) => question.toolCallId === toolCallId);
}

export function approvals(questions: Questions): ApprovalQuestion[] {
  return [...questions.values()].filter((question) => question.kind === 'approval');
}

/** What servers ask in a chat. */
export function formsOf(questions: Questions, chatId: string | undefined): FormQuestion[] {
  return [...questions.values()].filter(
    (question) => question.kind === 'form' && question.chatId === chatId,
  ) as FormQuestion[];
}
