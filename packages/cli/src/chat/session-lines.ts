// A table of saved conversations.
import { printable } from '@pocket-agent/kit';
import type { SessionSummary } from '../files/sessions.ts';
import { columns } from '../terminal/tool-listing.ts';
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
