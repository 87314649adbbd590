// The messages that show an answer: while it grows, and as it stays.
import type { ButtonAction } from './buttons.ts';
import { MESSAGE_LENGTH, splitMessage } from './split.ts';

export interface Part {
  content: string;
  /** What of the answer is in it. */
  text: string;
  actions: readonly ButtonAction[];
  file?: string;
}

interface Answer {
  /** What stands above the answer. */
  heading: string;
  text: string;
  /** The text as it goes into a file. */
  fileText: string;
  note: string;
  actions: readonly ButtonAction[];
  /** An answer with more parts goes into a file. */
  maxParts: number;
}

const LONGEST_NOTE = 400;
const NOTHING = '-# The model answered nothing. Ask in other words.';

/** `known` is how many messages of the answer are there already. */
export function growingParts(
  { heading, text, maxParts }: Pick<Answer, 'heading' | 'text' | 'maxParts'>,
  { status, known }: { status: string; known: number },
): Part[] {
  const shown = status.slice(0, LONGEST_NOTE);
  const parts = splitMessage(heading + text, MESSAGE_LENGTH - LONGEST_NOTE - 20).slice(0, maxParts);
  const last = parts.length - 1;
  if (last < 0) return [{ content: shown || '-# …', text: '', actions: ['stop'] }];
  return parts.map((content, index) => ({
    content: index === last ? joined(content, shown) : content,
    text: content,
    // by its button a new one is found again
    actions: index === last || index >= known ? ['stop'] : [],
  }));
}

export function finalParts({ heading, text, fileText, note, actions, maxParts }: Answer): Part[] {
  const last = cutNote(note || (text.trim() === '' ? NOTHING : ''));
  // what is split has its fences closed, so the note stands outside of them
  const texts = splitMessage(heading + text);
  const end = texts.pop() ?? '';
  const parts = texts.map((content): Part => ({ content, text: content, actions: [] }));
  if (joined(end, last).length > MESSAGE_LENGTH)
    parts.push({ content: end, text: end, actions: [] }, noted(last, { actions }));
  else parts.push({ content: joined(end, last), text: end, actions });
  if (parts.length <= maxParts) return parts;
  const where = joined(`-# The whole answer has ${fileText.length} characters and is in the file.`, last, '\n');
  const [beginning = ''] = splitMessage(heading + text, MESSAGE_LENGTH - where.length - 2);
  return [{ content: joined(beginning, where), text, actions, file: fileText }];
}

/** A message with a note instead of, or below, a part of the answer. */
export function noted(note: string, { text = '', actions = [] }: Partial<Pick<Part, 'text' | 'actions'>> = {}): Part {
  const [kept = ''] = splitMessage(text, MESSAGE_LENGTH - note.length - 2);
  return { content: joined(kept, note), text: kept, actions };
}

export function refusedNote(what: string, reason: string): string {
  return cutNote(`-# Discord refused to show ${what}: ${reason}${/[.)]$/.test(reason) ? '' : '.'}`);
}

export function cutNote(note: string): string {
  return note.slice(0, LONGEST_NOTE).toWellFormed();
}

export function joined(text: string, note: string, between = '\n\n'): string {
  if (note === '') return text;
  return text.trim() === '' ? note : `${text}${between}${note}`;
}
