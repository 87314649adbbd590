// Splits an answer into Discord messages, while it grows and when it is complete.
import type { AnswerFile } from './answer-files.ts';
import type { ButtonAction } from './buttons.ts';
import { MESSAGE_LENGTH, splitMessage } from './split.ts';

export interface Part {
  content: string;
  /** The part of the answer in this message. */
  text: string;
  actions: readonly ButtonAction[];
  /** The whole text of a long answer. */
  file?: string;
  /** What the model generated. */
  files?: readonly AnswerFile[];
}

interface Answer {
  /** Quoted question above the answer of a command. */
  heading: string;
  text: string;
  /** The text for a file, with working links. */
  fileText: string;
  note: string;
  actions: readonly ButtonAction[];
  /** An answer with more parts is sent as a file. */
  maxParts: number;
  /** Attached to the last part. */
  files: readonly AnswerFile[];
}

const MAX_NOTE_LENGTH = 400;
const EMPTY_ANSWER = '-# The model returned no text. Try to rephrase the question.';

/** `sentCount` is the number of messages that were sent already. */
export function growingParts(
  { heading, text, maxParts }: Pick<Answer, 'heading' | 'text' | 'maxParts'>,
  { status, sentCount }: { status: string; sentCount: number },
): Part[] {
  const shown = status.slice(0, MAX_NOTE_LENGTH);
  const parts = splitMessage(heading + text, MESSAGE_LENGTH - MAX_NOTE_LENGTH - 20).slice(0, maxParts);
  const last = parts.length - 1;
  if (last < 0) return [{ content: shown || '-# …', text: '', actions: ['stop'] }];
  return parts.map((content, index) => ({
    content: index === last ? joinNote(content, shown) : content,
    text: content,
    // a restarted bot finds new messages by their button
    actions: index === last || index >= sentCount ? ['stop'] : [],
  }));
}

export function finalParts(answer: Answer): Part[] {
  const { files } = answer;
  const parts = textParts(answer);
  const last = parts.at(-1);
  return last && files.length > 0 ? [...parts.slice(0, -1), { ...last, files }] : parts;
}

function textParts({ heading, text, fileText, note, actions, maxParts, files }: Answer): Part[] {
  const isEmpty = text.trim() === '' && files.length === 0;
  const lastNote = truncateNote(note || (isEmpty ? EMPTY_ANSWER : ''));
  // each part closes its code fences, so the note is outside of them
  const texts = splitMessage(heading + text);
  const end = texts.pop() ?? '';
  const parts = texts.map((content): Part => ({ content, text: content, actions: [] }));
  if (joinNote(end, lastNote).length > MESSAGE_LENGTH)
    parts.push({ content: end, text: end, actions: [] }, withNote(lastNote, { actions }));
  else parts.push({ content: joinNote(end, lastNote), text: end, actions });
  if (parts.length <= maxParts) return parts;
  const fileNote = joinNote(`-# The full answer has ${fileText.length} characters and is in the file.`, lastNote, '\n');
  const [beginning = ''] = splitMessage(heading + text, MESSAGE_LENGTH - fileNote.length - 2);
  return [{ content: joinNote(beginning, fileNote), text, actions, file: fileText }];
}

/** A message with a note below a part of the answer, or in place of it. */
export function withNote(
  note: string,
  { text = '', actions = [] }: Partial<Pick<Part, 'text' | 'actions'>> = {},
): Part {
  const [kept = ''] = splitMessage(text, MESSAGE_LENGTH - note.length - 2);
  return { content: joinNote(kept, note), text: kept, actions };
}

export function refusalNote(what: string, reason: string): string {
  return truncateNote(`-# Discord refused to show ${what}: ${reason}${/[.)]$/.test(reason) ? '' : '.'}`);
}

export function truncateNote(note: string): string {
  return note.slice(0, MAX_NOTE_LENGTH).toWellFormed();
}

export function joinNote(text: string, note: string, between = '\n\n'): string {
  if (note === '') return text;
  return text.trim() === '' ? note : `${text}${between}${note}`;
}
