// Saved conversations and memories as lines of text.
import { printable, printableText } from '@pocket-agent/kit';
import type { Memory } from '@pocket-agent/store';
import type { Message } from 'pocket-agent';
import type { SessionSummary } from '../files/sessions.ts';
import { columns } from '../terminal/text-width.ts';
import { plural } from '../terminal/usage-line.ts';

const MAX_BEGINNING = 60;

export function sessionLines(sessions: readonly SessionSummary[]): string[] {
  return columns(
    sessions.map(({ name, savedAt, messages, beginning, problem }) => [
      printable(name),
      problem === undefined ? plural(messages, 'message') : 'cannot be read',
      savedAt.toISOString().slice(0, 16).replace('T', ' '),
      printable(problem ?? beginning, MAX_BEGINNING),
    ]),
  );
}

/** A table: id, date and text. */
export function memoryLines(memories: readonly Memory[]): string[] {
  return columns(
    memories.map(({ id, createdAt, text }) => [id, createdAt.toISOString().slice(0, 10), printable(text)]),
  );
}

export function messageLines({ role, content }: Message): string[] {
  const lines: string[] = [];
  for (const part of content) {
    if (part.type === 'text') lines.push(`${role === 'user' ? '> ' : ''}${printableText(part.text)}`, '');
    else if (part.type === 'tool-call') lines.push(printable(`→ ${part.toolName} ${JSON.stringify(part.input)}`));
    else if (part.type === 'tool-result') lines.push(printable(`← ${part.toolName} ${resultText(part.output)}`), '');
    else if (part.type === 'file') lines.push(printable(`[${part.mediaType}]`));
  }
  return lines;
}

function resultText(output: object): string {
  return 'value' in output && typeof output.value === 'string' ? output.value : JSON.stringify(output);
}
