// Answers forms of MCP servers at the terminal: field by field, or a URL to open.
import type { ElicitRequest, ElicitResult } from '@modelcontextprotocol/client';
import { PocketError, printable, printableJson } from '@pocket-agent/kit';
import { checkForeign, type ServerHandlers } from 'pocket-agent';
import type { OpenQuestion, TerminalQuestions } from './terminal-questions.ts';

type Form = Extract<ElicitRequest['params'], { requestedSchema: unknown }>;
type Field = Form['requestedSchema']['properties'][string];
type Value = NonNullable<ElicitResult['content']>[string];

const MAX_MESSAGE = 1_000;
const MAX_NAME = 100;
const ANSWER_PROMPT = 'answer? y(es) / n(o) ';

/** `signal` returns the signal of the current run. */
export function terminalForm(
  questions: TerminalQuestions,
  signal: () => AbortSignal,
): NonNullable<ServerHandlers['elicitationHandler']> {
  return (params, { server, signal: ended }) =>
    questions.inTurn(() =>
      questions.open<ElicitResult>(AbortSignal.any([signal(), ended]), { action: 'cancel' }, async (question) => {
        question.output.write(`\n${printable(server, MAX_NAME)} asks: ${printable(params.message, MAX_MESSAGE)}\n`);
        if ('url' in params) return visit(params.url, question);
        return (await confirmed(ANSWER_PROMPT, question)) ? fillIn(params, question, server) : { action: 'decline' };
      }),
    );
}

async function visit(url: string, question: OpenQuestion): Promise<ElicitResult> {
  question.output.write(`Open this URL in a browser if you trust it: ${printable(url)}\n`);
  return { action: (await confirmed('done? y(es) / n(o) ', question)) ? 'accept' : 'decline' };
}

async function confirmed(words: string, { lines, output, signal }: OpenQuestion): Promise<boolean> {
  for (;;) {
    const word = (await lines.question(words, { signal })).trim().toLowerCase();
    if (word === 'y' || word === 'yes') return true;
    if (word === 'n' || word === 'no') return false;
    output.write('Type y or n, and press Enter.\n');
  }
}

async function fillIn({ requestedSchema }: Form, question: OpenQuestion, server: string): Promise<ElicitResult> {
  const content: Record<string, Value> = {};
  for (const [name, field] of Object.entries(requestedSchema.properties)) {
    const isRequired = requestedSchema.required?.includes(name) ?? false;
    for (;;) {
      const typed = (
        await question.lines.question(prompt(name, field, isRequired), { signal: question.signal })
      ).trim();
      if (typed === '' && field.default !== undefined) content[name] = field.default;
      if (typed === '' && (field.default !== undefined || !isRequired)) break;
      const value = read(typed, field);
      const verdict = await checkForeign({ schema: field, value, origin: server, signal: question.signal });
      if ('fits' in verdict) {
        content[name] = value as Value;
        break;
      }
      if (!('problem' in verdict)) throw unusable(server, name, verdict);
      question.output.write(`Not valid: ${printable(verdict.problem)}\n`);
    }
  }
  return { action: 'accept', content };
}

function unusable(server: string, name: string, verdict: { invalid: string } | { unchecked: string }): PocketError {
  const reason = 'invalid' in verdict ? verdict.invalid : verdict.unchecked;
  return new PocketError('MCP_REQUEST_FAILED', `Server "${server}" sent an unusable schema for "${name}": ${reason}.`);
}

function prompt(name: string, field: Field, isRequired: boolean): string {
  const { title, description } = field;
  const choices = choicesOf(field).map(({ value, label }) => (label === value ? value : `${value} (${label})`));
  const notes = [
    ...(choices.length > 0 ? [choices.join(' | ')] : [field.type === 'boolean' ? 'y | n' : field.type]),
    ...(field.type === 'array' ? ['comma-separated'] : []),
    ...(field.default === undefined ? [] : [`Enter: ${printableJson(field.default)}`]),
    ...(isRequired || field.default !== undefined ? [] : ['Enter: skip']),
  ];
  const about = description ? ` - ${description}` : '';
  return `${printable(`${title ?? name}${about}`, MAX_MESSAGE)} [${printable(notes.join(', '), MAX_MESSAGE)}]: `;
}

interface Choice {
  value: string;
  label: string;
}

/** MCP has five ways to define choices. */
function choicesOf(field: Field): Choice[] {
  const source = field.type === 'array' ? field.items : field;
  const titled = 'oneOf' in source ? source.oneOf : 'anyOf' in source ? source.anyOf : [];
  if (titled.length > 0) return titled.map(({ const: value, title }) => ({ value, label: title }));
  const names = 'enumNames' in source && Array.isArray(source.enumNames) ? source.enumNames : [];
  const values = 'enum' in source && Array.isArray(source.enum) ? source.enum : [];
  return values.map((value, index) => ({ value, label: names[index] ?? value }));
}

/** Converts the input to the type of the field. Input that cannot be converted stays a string and fails the check. */
function read(typed: string, field: Field): unknown {
  switch (field.type) {
    case 'boolean':
      return /^(y|yes|true)$/i.test(typed) ? true : /^(n|no|false)$/i.test(typed) ? false : typed;
    case 'number':
    case 'integer':
      return Number.isNaN(Number(typed)) ? typed : Number(typed);
    case 'array':
      return typed.split(',').map((item) => item.trim());
    default:
      return typed;
  }
}
