// Calls that wait for an approval in the state of a gateway: lists and answers them.
import type { GivenAnswer, OpenQuestion } from '@pocket-agent/gateway';
import { isRecord, PocketError, printable, printableJson } from '@pocket-agent/kit';
import { exitCodes } from '../command-line/exit-codes.ts';
import { knownState, stateHint } from './gateway-tokens.ts';

export interface ApprovalsRequest {
  action: 'list' | 'allow' | 'deny';
  /** The id of the question. */
  id: string;
  /** Why a call is denied. */
  reason: string;
  /** Other arguments, as JSON. */
  args: string | undefined;
  /** Whether later calls of this tool are allowed too. */
  always: boolean;
  state: string | undefined;
  json: boolean;
}

const OPERATOR = 'the operator of the gateway';
const MAX_DESCRIPTION = 300;

export async function approvalsCommand(request: ApprovalsRequest): Promise<number> {
  const { action, id, json } = request;
  const answer = action === 'list' ? undefined : answerIn(request);
  const state = await knownState(request.state);
  try {
    if (answer) {
      if (await state.answer(id, { answer, by: OPERATOR })) return exitCodes.answered;
      process.stderr.write(`There is no open question "${printable(id)}".${stateHint(request.state)}\n`);
      return exitCodes.failed;
    }
    const questions = await state.questions();
    const lines = json ? questions.map(printableJson) : described(questions);
    process.stdout.write(lines.map((line) => `${line}\n`).join(''));
    return exitCodes.answered;
  } finally {
    await state.close();
  }
}

/** Arguments are shown whole, because people must see what they approve. */
function described(questions: readonly OpenQuestion[]): string[] {
  if (questions.length === 0) return ['No call waits for an answer.'];
  const blocks = questions.flatMap(({ id, caller, tool, capability, changed, description, ...question }) => [
    `${printable(caller)} wants to call ${printable(tool)} (${capability}), ${timesOf(question)}`,
    ...(description ? [`  ${printable(description, MAX_DESCRIPTION)}`] : []),
    ...(changed ? ['  The definition of this tool has changed since it was first seen.'] : []),
    ...Object.entries(question.arguments).map(([name, value]) => `  ${printable(name)}: ${printableJson(value)}`),
    `  ID ${id}`,
    '',
  ]);
  return [...blocks, 'Answer, with the same --state: pocket-agent gateway approvals allow ID, or deny ID "why"'];
}

function timesOf({ askedAt, expiresAt }: Pick<OpenQuestion, 'askedAt' | 'expiresAt'>): string {
  const now = Date.now();
  return `asked ${duration(now - askedAt)} ago, expires in ${duration(expiresAt - now)}`;
}

function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7_200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`;
}

function answerIn({ action, reason, args, always }: ApprovalsRequest): GivenAnswer['answer'] {
  if (action === 'deny') return { deny: reason || 'it was not approved' };
  const remember = always ? { remember: 'conversation' as const } : {};
  return { allow: args === undefined ? true : readArguments(args), ...remember };
}

function readArguments(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (isRecord(value)) return value;
  } catch {
    // reported below
  }
  throw new PocketError('CONFIG_INVALID', '--arguments must be a JSON object.');
}
