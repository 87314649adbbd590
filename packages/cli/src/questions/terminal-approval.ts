// Asks the user at the terminal before a tool is called: yes, no, always or edit.

import { isRecord, jsonFault, printable, printableJson, truncate } from '@pocket-agent/kit';
import type { ApprovalAnswer, ApprovalRequest } from 'pocket-agent';
import type { OpenQuestion, TerminalQuestions } from './terminal-questions.ts';

const MAX_DESCRIPTION = 500;
const MAX_ARGUMENT_LENGTH = 300;
const MAX_ARGUMENTS = 20;
const MAX_NAME = 100;

const HINT = 'Type y, n, a or e, and press Enter: y calls the tool once, n refuses, e changes the arguments first.\n';

const always = { allow: true, remember: 'conversation' } as const;
const noAnswer = { deny: 'the user did not answer at the terminal' };

export class TerminalApproval {
  readonly #questions: TerminalQuestions;
  readonly #always = new Set<string>();

  constructor(questions: TerminalQuestions) {
    this.#questions = questions;
  }

  readonly approve = (request: ApprovalRequest): Promise<ApprovalAnswer> =>
    this.#questions.inTurn(() => this.#answer(request));

  /** Takes back every "always". */
  forget(): void {
    this.#always.clear();
  }

  async #answer(request: ApprovalRequest): Promise<ApprovalAnswer> {
    request.signal.throwIfAborted();
    // the agent remembers too, but it has already asked about the calls that wait here
    const key = JSON.stringify([request.path, request.tool]);
    if (request.changed) this.#always.delete(key); // "always" covered only the old definition
    if (this.#always.has(key)) return always;
    const answer = await this.#questions.open<ApprovalAnswer>(request.signal, noAnswer, (question) => {
      question.output.write(describe(request));
      return converse(request, question);
    });
    if (answer === always) this.#always.add(key);
    return answer;
  }
}

async function converse(request: ApprovalRequest, question: OpenQuestion): Promise<ApprovalAnswer> {
  const { lines, signal } = question;
  for (;;) {
    const word = await lines.question('y(es) / n(o) / a(lways for this tool) / e(dit)? ', { signal });
    switch (word.trim().toLowerCase()) {
      case 'y':
      case 'yes':
        return 'allow';
      case 'n':
      case 'no':
        return { deny: 'the user said no at the terminal' };
      case 'a':
      case 'always':
        return always;
      case 'e':
      case 'edit': {
        const edited = await edit(request, question);
        if (edited) return edited;
        break;
      }
      default:
        question.output.write(HINT);
    }
  }
}

/** Undefined if the input is empty or invalid. */
async function edit(
  request: ApprovalRequest,
  { lines, output, isTerminal, signal }: OpenQuestion,
): Promise<ApprovalAnswer | undefined> {
  const original = printableJson(request.arguments);
  const typing = lines.question('arguments as JSON: ', { signal });
  if (isTerminal) lines.write(original);
  const typed = (await typing).trim();
  if (typed === original) return 'allow';
  if (typed === '') return undefined;
  try {
    const value: unknown = JSON.parse(typed);
    if (isRecord(value)) return { allow: value };
    output.write('Arguments must be a JSON object.\n');
  } catch {
    output.write(`That is not JSON: ${jsonFault(typed)?.problem}.\n`);
  }
  return undefined;
}

function describe({ tool, capability, description, path, changed, arguments: args }: ApprovalRequest): string {
  const entries = Object.entries(args);
  const who = printable(path.join(' → '), MAX_NAME);
  const lines = [
    `${who} wants to call ${printable(tool, MAX_NAME)}, which can ${capability}.`,
    ...(changed ? ['  ! Its definition has changed since it was first used.'] : []),
    `  description: ${description ? printable(description, MAX_DESCRIPTION) : 'none'}`,
    entries.length > 0 ? '  arguments:' : '  arguments: none',
    ...entries.slice(0, MAX_ARGUMENTS).map(([key, value]) => `    ${argument(key, value)}`),
    ...(entries.length > MAX_ARGUMENTS
      ? [`    … (${entries.length - MAX_ARGUMENTS} more; choose edit to see all)`]
      : []),
  ];
  return `\n${lines.join('\n')}\n`;
}

function argument(key: string, value: unknown): string {
  const name = /^[\w.-]+$/.test(key) ? key : printableJson(key);
  return `${truncate(name, MAX_NAME)}: ${truncate(printableJson(value), MAX_ARGUMENT_LENGTH)}`;
}
