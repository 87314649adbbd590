// What a remote agent of ours wants a yes for, asked where people are: a model cannot say it.

import { PocketError } from '@pocket-agent/kit';
import { APPROVAL_META_KEY, askRoot, nobody, notPassedOn, notPassedOnText, type RunFrame } from 'pocket-agent/internal';
import { type Part, userMessage } from '../wire/wire.ts';
import type { RemoteCall } from './remote-call.ts';

const MOST_ROUNDS = 100;

interface Asker {
  /** Our name for it. */
  name: string;
  /** Whether what it asks is put to the root. */
  approvals: boolean;
  /** Told, for whoever runs the agent that calls, that a question was not put to anybody. */
  warn(text: string): void;
  frame: RunFrame | undefined;
}

/** Answers as often as the agent asks, until it is done or wants to know something else. */
export async function answerApprovals(call: RemoteCall, { name, approvals, frame, warn }: Asker): Promise<void> {
  for (let round = 0; call.status?.state === 'TASK_STATE_INPUT_REQUIRED'; round++) {
    const questions = approvalsIn(call.status.message?.parts ?? []);
    if (questions.length === 0) return;
    if (round === MOST_ROUNDS) {
      await call.cancel();
      throw new PocketError('TOOL_FAILED', `${name} asked for approval too often; its task was cancelled.`);
    }
    if (!approvals) warn(notPassedOnText(`A2A agent ${name}`));
    await Promise.all(
      questions.map(async ({ question, described }) => {
        const answer = approvals ? ((await askRoot(described, `A2A agent ${name}`, frame)) ?? nobody) : notPassedOn;
        await call.reply(userMessage([{ data: { question, ...answer } }], call));
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
