// Questions and answers as text of a chat.
import { escapeInvisible, isRecord, printable } from '@pocket-agent/kit';
import type { GivenAnswer } from '../callers/state.ts';
import type { DeskQuestion } from './desk.ts';

export const ANSWERS =
  'Reply to this message with `allow`, `allow always` (this tool, for this caller), `allow {…}` (with other arguments, as JSON), `deny`, or `deny` and the reason.';
export const UNREADABLE = `I could not read that. ${ANSWERS}`;

const MAX_DESCRIPTION = 300;
const MAX_REASON = 500;

/** The whole call: people must see what they approve. */
export function questionText({ caller, request }: DeskQuestion): string {
  const { tool, capability, description, arguments: args, changed, hash } = request;
  const lines = [
    // names and descriptions come from third parties: each on one line, so that they cannot imitate the other lines
    `Caller: ${caller}`,
    `Tool: ${printable(tool, 200)} (${capability})`,
    ...(description ? [`Its description: ${printable(description, MAX_DESCRIPTION)}`] : []),
    ...(changed ? ['The definition of this tool has changed since it was first seen.'] : []),
    `Call: ${hash.slice(0, 16)}`,
    'Arguments:',
  ];
  const head = lines.map((line) => line.replaceAll('`', "'")).join('\n');
  // in a block of code nothing is a mention, a link or markup
  return `May this call be made?\n\`\`\`\n${head}\n${shownArguments(args)}\n\`\`\`\n${ANSWERS}`;
}

/** As JSON, each value on a line of its own: a long value could push the next one out of sight. */
function shownArguments(args: unknown): string {
  const lines = JSON.stringify(args, null, 2).split('\n').map(escapeInvisible);
  const spaces = (run: string) => ` (${run.length} spaces) `;
  return lines.map((line) => line.replace(/(?<=\S)\s{9,}/g, spaces).replaceAll('`', '\\u0060')).join('\n');
}

/** Undefined if the text is not an answer. */
export function readAnswerText(text: string): GivenAnswer['answer'] | undefined {
  const reply = text.replace(/^\s*(?:<@!?\d+>|@[\w.-]+)\s*/, '').trim();
  const [, word = '', rest = ''] = /^(allow|deny)\b[\s:,.]*([\s\S]*)$/i.exec(reply) ?? [];
  if (word.toLowerCase() === 'deny') return { deny: rest.slice(0, MAX_REASON) || 'it was not approved' };
  if (word === '') return undefined;
  if (rest === '') return { allow: true };
  if (/^always[.!]?$/i.test(rest)) return { allow: true, remember: 'conversation' };
  const args = readJson(rest.replace(/^```(?:json)?\s*|\s*```$/g, '').replace(/^`|`$/g, ''));
  return args && { allow: args };
}

function readJson(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined; // the person gets UNREADABLE
  }
}
