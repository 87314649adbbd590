// A compacted history as the model sees it: a summary, one-line references to old results, and the newest messages.
import { type Message, outputText, type ToolMessage, type UserMessage } from '../base/messages.ts';
import { sameItems } from '../base/same-items.ts';
import type { PromptStart } from '../model/prompt.ts';
import { capped } from '../tools/result-size.ts';
import { boundariesOf } from './boundaries.ts';

/** The compacted part of a history. Plain JSON: saved with the messages, it continues a conversation. */
export interface CompactedHistory {
  /** The summary replaces the messages before this index. */
  from: number;
  summary?: string;
  /** Results of tool calls before this index are shown as one line. */
  resultsFrom: number;
  /** Results between `resultsFrom` and this index keep their beginning and end, at most `maxResultBytes`. */
  shortenedTo?: number;
  maxResultBytes?: number;
  /** Longest text of the user's last request, if the summary replaces it. */
  maxRequestBytes?: number;
  /** Ids of tool calls that returned instructions, such as those of a skill. Their results are not shown as one line. */
  instructions?: readonly string[];
}

/** The messages that a view refers to. */
export function compactedLength({ from, resultsFrom, shortenedTo = 0 }: CompactedHistory): number {
  return Math.max(from, resultsFrom, shortenedTo);
}

/** Returns the line that replaces a result, or its middle. */
export type Reference = (part: ToolResultPart, what: 'whole' | 'middle') => string;

export type ToolResultPart = Extract<ToolMessage['content'][number], { type: 'tool-result' }>;

/** The reference for agents that cannot read the result again. */
export const plainReference: Reference = (part, what) =>
  `[${leftOut(part, what)}; call ${part.toolName} again if you need it.]`;

export function leftOut(part: ToolResultPart, what: 'whole' | 'middle'): string {
  const subject = what === 'whole' ? 'Result' : 'The middle of this result';
  return `${subject} of ${resultBytes(part)} bytes left out to save space`;
}

/** Shorter results stay: a reference would save nothing. */
const MIN_REFERENCED_BYTES = 400;

/** Whether saved data belongs to these messages. */
export function isViewOf(messages: readonly Message[], view: CompactedHistory): boolean {
  const { from, summary, resultsFrom, shortenedTo = 0, instructions = [] } = view;
  const isIndex = (value: unknown) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= messages.length;
  if (![from, resultsFrom, shortenedTo].every(isIndex) || !Array.isArray(instructions)) return false;
  return from === 0 || (typeof summary === 'string' && boundariesOf(messages)[from] === true);
}

export function startOf(messages: readonly Message[], view: CompactedHistory, reference: Reference): PromptStart {
  const { from, resultsFrom, shortenedTo = 0, maxResultBytes } = view;
  const end = compactedLength(view);
  const instructions = new Set(view.instructions);
  const shown = messages.slice(from, end).map((message, index) => {
    if (message.role !== 'tool') return message;
    if (from + index < resultsFrom)
      return mapResults(message, (part) => (instructions.has(part.toolCallId) ? part : referenced(part, reference)));
    if (from + index >= shortenedTo || maxResultBytes === undefined) return message;
    return mapResults(message, (part) => shortened(part, { maxBytes: maxResultBytes, reference }));
  });
  if (view.summary === undefined) return { before: shown, from: end };
  const [first] = shown;
  const next = first ?? messages[from];
  // providers want a prompt to begin with the user, and the user and the assistant to take turns
  if (next?.role !== 'user') return { before: [introduction(messages, view), ...shown], from: end };
  const merged: UserMessage = { ...next, content: [summaryPart(messages, view), ...next.content] };
  return { before: [merged, ...shown.slice(1)], from: Math.max(end, from + 1) };
}

/** The summary, and word for word what the assistant is working on: the cut is within a turn. */
function introduction(messages: readonly Message[], view: CompactedHistory): UserMessage {
  const { from, maxRequestBytes = Number.POSITIVE_INFINITY } = view;
  const request = messages.findLast((message, index) => index < from && message.role === 'user');
  const parts = request?.role === 'user' ? request.content : [];
  const shown = parts.map((part) =>
    part.type === 'text' ? { ...part, text: shortText(part.text, maxRequestBytes) } : part,
  );
  return { role: 'user', content: [summaryPart(messages, view), ...shown] };
}

function summaryPart(messages: readonly Message[], view: CompactedHistory): UserMessage['content'][number] {
  const lines = [
    '[Notes on the earlier part of this conversation, which is no longer shown:]',
    // a text that was summarised may have planted the line that ends the notes, to be taken for the user
    view.summary?.replace(/\[(?=\s*(?:end of the notes|notes on|instructions that))/gi, '('),
    ...instructionsNote(messages, view),
    '[End of the notes. What follows is word for word.]',
  ];
  return { type: 'text', text: lines.join('\n') };
}

const MAX_CALLS_TO_REPEAT = 10;
const MAX_ARGUMENTS = 200;

/** The calls to repeat for instructions that the summary has replaced, the last ones first. */
function instructionsNote(messages: readonly Message[], { from, instructions = [] }: CompactedHistory): string[] {
  if (instructions.length === 0) return [];
  const ids = new Set(instructions);
  const calls = messages.slice(0, from).flatMap(({ content }) =>
    content.flatMap((part) => {
      if (part.type !== 'tool-call' || !ids.has(part.toolCallId)) return [];
      return `${part.toolName} with ${shortText(JSON.stringify(part.input) ?? '', MAX_ARGUMENTS)}`;
    }),
  );
  const last = [...new Set(calls.reverse())].slice(0, MAX_CALLS_TO_REPEAT);
  if (last.length === 0) return [];
  return [`[Instructions that are no longer shown. If you still follow them, call again: ${last.join('; ')}]`];
}

export function resultsIn(message: Message): ToolResultPart[] {
  if (message.role !== 'tool') return [];
  return message.content.flatMap((part) => (part.type === 'tool-result' ? [part] : []));
}

function mapResults(message: ToolMessage, change: (part: ToolResultPart) => ToolResultPart): ToolMessage {
  const content = message.content.map((part) => (part.type === 'tool-result' ? change(part) : part));
  return sameItems(content, message.content) ? message : { ...message, content };
}

function referenced(part: ToolResultPart, reference: Reference): ToolResultPart {
  const hasFiles = part.output.type === 'content' && part.output.value.some((item) => item.type !== 'text');
  if (!hasFiles && resultBytes(part) < MIN_REFERENCED_BYTES) return part;
  return { ...part, output: { type: isError(part) ? 'error-text' : 'text', value: reference(part, 'whole') } };
}

interface Shortening {
  maxBytes: number;
  reference: Reference;
}

function shortened(part: ToolResultPart, { maxBytes, reference }: Shortening): ToolResultPart {
  if (resultBytes(part) <= maxBytes) return part;
  const note = reference(part, 'middle');
  const value = `${shortText(outputText(part.output), maxBytes - Buffer.byteLength(note))}\n${note}`;
  return { ...part, output: { type: isError(part) ? 'error-text' : 'text', value } };
}

export function isError({ output }: ToolResultPart): boolean {
  return output.type.startsWith('error') || output.type === 'execution-denied';
}

export function resultBytes(part: ToolResultPart): number {
  return Buffer.byteLength(outputText(part.output));
}

/** The beginning and the end of a text that is too long. */
export function shortText(text: string, maxBytes: number): string {
  if (text.length * 3 <= maxBytes) return text;
  const [part] = capped([{ type: 'text', text }], Math.floor(maxBytes));
  return part?.type === 'text' ? part.text : text;
}
