// Asks the person at the terminal before a tool is called: yes, no, always or edit.

import { errorText, printable, printableJson, truncate } from '@pocket-agent/kit';
import type { ApprovalAnswer, ApprovalRequest } from 'pocket-agent';
import { isObject } from '../files/json-file.ts';
import type { OpenQuestion, TerminalQuestions } from './terminal-questions.ts';

const LONGEST_DESCRIPTION = 500;
const LONGEST_ARGUMENT = 300;
const MOST_ARGUMENTS = 20;
const LONGEST_NAME = 100;

const always = { allow: true, remember: 'conversation' } as const;
const nobody = { deny: 'nobody answered at the terminal' };

export class TerminalApproval {
  readonly #questions: TerminalQuestions;
  readonly #always = new Set<string>();

  constructor(questions: TerminalQuestions) {
    this.#questions = questions;
  }

  readonly approve = (request: ApprovalRequest): Promise<ApprovalAnswer> =>
    this.#questions.inTurn(() => this.#answer(request));

  /** Every `always` is taken back. */
  forget(): void {
    this.#always.clear();
  }

  async #answer(request: ApprovalRequest): Promise<ApprovalAnswer> {
    request.signal.throwIfAborted();
    // the agent remembers too, but not for calls that were already waiting here
    const key = JSON.stringify([request.path, request.tool]);
    if (request.changed) this.#always.delete(key); // it was said of the tool as it was
    if (this.#always.has(key)) return always;
    const answer = await this.#questions.open<ApprovalAnswer>(request.signal, nobody, (question) => {
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
        return { deny: 'the person at the terminal said no' };
      case 'a':
      case 'always':
        return always;
      case 'e':
      case 'edit': {
        const edited = await edit(request, question);
        if (edited) return edited;
      }
    }
  }
}

/** Undefined when what was typed cannot be used, or nothing was typed. */
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
    if (isObject(value)) return { allow: value };
    output.write('Arguments must be a JSON object.\n');
  } catch (error) {
    output.write(`That is not JSON: ${printable(errorText(error))}\n`);
  }
  return undefined;
}

function describe({ tool, capability, description, path, changed, arguments: args }: ApprovalRequest): string {
  const entries = Object.entries(args);
  const who = printable(path.join(' → '), LONGEST_NAME);
  const told = [
    `${who} wants to call ${printable(tool, LONGEST_NAME)}, which can ${capability}.`,
    ...(changed ? ['  ! Its definition has changed since it was first seen.'] : []),
    `  what it does: ${description ? printable(description, LONGEST_DESCRIPTION) : 'it does not say'}`,
    entries.length > 0 ? '  arguments:' : '  arguments: none',
    ...entries.slice(0, MOST_ARGUMENTS).map(([key, value]) => `    ${argument(key, value)}`),
    ...(entries.length > MOST_ARGUMENTS ? [`    … (${entries.length - MOST_ARGUMENTS} more; edit shows all)`] : []),
  ];
  return `\n${told.join('\n')}\n`;
}

function argument(key: string, value: unknown): string {
  const name = /^[\w.-]+$/.test(key) ? key : printableJson(key);
  return `${truncate(name, LONGEST_NAME)}: ${truncate(printableJson(value), LONGEST_ARGUMENT)}`;
}
