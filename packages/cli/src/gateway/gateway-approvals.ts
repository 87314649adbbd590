// Calls that wait for an approval in the state of a gateway: lists and answers them.
import type { GivenAnswer } from '@pocket-agent/gateway';
import { isRecord, PocketError, printable, printableJson } from '@pocket-agent/kit';
import { exitCodes } from '../command-line/exit-codes.ts';
import { gatewayState } from './gateway-tokens.ts';

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

export async function approvalsCommand(request: ApprovalsRequest): Promise<number> {
  const { action, id, json } = request;
  const answer = action === 'list' ? undefined : answerIn(request);
  const state = await gatewayState(request.state);
  try {
    if (answer) {
      if (await state.answer(id, { answer, by: OPERATOR })) return exitCodes.answered;
      process.stderr.write(`There is no open question "${printable(id)}".\n`);
      return exitCodes.failed;
    }
    for (const question of await state.questions()) {
      const { caller, tool, capability, changed } = question;
      const [name, what] = [printable(tool), printableJson(question.arguments)];
      const note = changed ? ', its definition has changed' : '';
      const row = `${question.id}  ${caller}  ${name} (${capability}${note})  ${what}`;
      process.stdout.write(`${json ? printableJson(question) : row}\n`);
    }
    return exitCodes.answered;
  } finally {
    await state.close();
  }
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
    // said below
  }
  throw new PocketError('CONFIG_INVALID', '--arguments must be a JSON object.');
}
