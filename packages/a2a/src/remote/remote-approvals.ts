// Passes approval questions of a remote Pocket Agent on to the person who approves for the caller.
import { randomUUID } from 'node:crypto';
import { PocketError } from '@pocket-agent/kit';
import {
  APPROVAL_META_KEY,
  askRoot,
  noApprover,
  notForwarded,
  notForwardedText,
  type RunContext,
} from 'pocket-agent/internal';
import type { Part } from '../wire/task.ts';
import type { RemoteCall } from './remote-call.ts';

const MAX_ROUNDS = 100;

interface ApprovalContext {
  /** The name of the remote agent. */
  name: string;
  /** Whether its questions are passed on to the root agent. */
  approvals: boolean;
  /** Reports that a question was not passed on. */
  warn(text: string): void;
  run: RunContext | undefined;
}

/** Answers approval questions until the agent has finished or asks another kind of question. */
export async function answerApprovals(
  call: RemoteCall,
  { name, approvals, run, warn }: ApprovalContext,
): Promise<void> {
  for (let round = 0; call.collected.status?.state === 'input-required'; round++) {
    const questions = approvalsIn(call.collected.status.message?.parts ?? []);
    if (questions.length === 0) return;
    if (round === MAX_ROUNDS) {
      await call.cancel();
      throw new PocketError('TOOL_FAILED', `${name} asked for approval too often; its task was canceled.`);
    }
    if (!approvals) warn(notForwardedText(`A2A agent ${name}`));
    await Promise.all(
      questions.map(async ({ question, described }) => {
        const answer = approvals ? ((await askRoot(described, `A2A agent ${name}`, run)) ?? noApprover) : notForwarded;
        const { taskId, contextId } = call.collected;
        const parts = [{ data: { question, ...answer } }];
        await call.reply({ messageId: randomUUID(), parts, taskId, contextId });
      }),
    );
    await call.refresh();
    await call.follow();
  }
}

function approvalsIn(parts: readonly Part[]): { question: string; described: unknown }[] {
  return parts.flatMap(({ data }) => {
    if (typeof data !== 'object' || data === null || !(APPROVAL_META_KEY in data)) return [];
    const question = 'question' in data ? String(data.question) : '';
    return [{ question, described: data[APPROVAL_META_KEY] }];
  });
}
