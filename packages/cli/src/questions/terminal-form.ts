// What an MCP server wants to know, asked at the terminal: a form field by field, or an address to open.
import type { ElicitRequest, ElicitResult } from '@modelcontextprotocol/client';
import { PocketError, printable, printableJson } from '@pocket-agent/kit';
import { checkForeign, type ServerHandlers } from 'pocket-agent';
import type { OpenQuestion, TerminalQuestions } from './terminal-questions.ts';

type Form = Extract<ElicitRequest['params'], { requestedSchema: unknown }>;
type Field = Form['requestedSchema']['properties'][string];
type Value = NonNullable<ElicitResult['content']>[string];

const LONGEST_MESSAGE = 1_000;
const LONGEST_NAME = 100;
const YES_OR_NO = 'answer? y(es) / n(o) ';

/** `signal` is that of the run that is on. */
export function terminalForm(
  questions: TerminalQuestions,
  signal: () => AbortSignal,
): NonNullable<ServerHandlers['elicitationHandler']> {
  return (params, { server }) =>
    questions.inTurn(() =>
      questions.open<ElicitResult>(signal(), { action: 'cancel' }, async (question) => {
        question.output.write(
          `\n${printable(server, LONGEST_NAME)} asks: ${printable(params.message, LONGEST_MESSAGE)}\n`,
        );
        if ('url' in params) return visit(params.url, question);
        return (await isWanted(YES_OR_NO, question)) ? fillIn(params, question, server) : { action: 'decline' };
      }),
    );
}

async function visit(url: string, question: OpenQuestion): Promise<ElicitResult> {
  question.output.write(`Open this address yourself, if you trust it: ${printable(url)}\n`);
  return { action: (await isWanted('done? y(es) / n(o) ', question)) ? 'accept' : 'decline' };
}

async function isWanted(words: string, { lines, signal }: OpenQuestion): Promise<boolean> {
  for (;;) {
    const word = (await lines.question(words, { signal })).trim().toLowerCase();
    if (word === 'y' || word === 'yes') return true;
    if (word === 'n' || word === 'no') return false;
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
      question.output.write(`That does not fit: ${printable(verdict.problem)}\n`);
    }
  }
  return { action: 'accept', content };
}

function unusable(server: string, name: string, verdict: { invalid: string } | { unchecked: string }): PocketError {
  const reason = 'invalid' in verdict ? verdict.invalid : verdict.unchecked;
  return new PocketError('MCP_REQUEST_FAILED', `The schema of "${name}" from "${server}" cannot be used: ${reason}.`);
}

function prompt(name: string, field: Field, isRequired: boolean): string {
  const { title, description } = field;
  const choices = choicesOf(field).map(({ value, label }) => (label === value ? value : `${value} (${label})`));
  const notes = [
    ...(choices.length > 0 ? [choices.join(' | ')] : [field.type === 'boolean' ? 'y | n' : field.type]),
    ...(field.type === 'array' ? ['several with commas'] : []),
    ...(field.default === undefined ? [] : [`Enter: ${printableJson(field.default)}`]),
    ...(isRequired || field.default !== undefined ? [] : ['Enter: leave out']),
  ];
  const about = description ? ` - ${description}` : '';
  return `${printable(`${title ?? name}${about}`, LONGEST_MESSAGE)} [${printable(notes.join(', '), LONGEST_MESSAGE)}]: `;
}

interface Choice {
  value: string;
  label: string;
}

/** MCP has five ways to write a choice. */
function choicesOf(field: Field): Choice[] {
  const source = field.type === 'array' ? field.items : field;
  const titled = 'oneOf' in source ? source.oneOf : 'anyOf' in source ? source.anyOf : [];
  if (titled.length > 0) return titled.map(({ const: value, title }) => ({ value, label: title }));
  const names = 'enumNames' in source && Array.isArray(source.enumNames) ? source.enumNames : [];
  const values = 'enum' in source && Array.isArray(source.enum) ? source.enum : [];
  return values.map((value, index) => ({ value, label: names[index] ?? value }));
}

/** As the field wants it; what cannot be read so is left to the check. */
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
