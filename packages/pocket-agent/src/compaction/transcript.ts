// A conversation as text for the model that summarises it, in pieces that fit into its context window.
import { type Message, outputText } from '../base/messages.ts';
import { shortText } from './history-view.ts';

/** Longest texts of one message. A summary has no place for more. */
const limits = { user: 8_000, assistant: 4_000, arguments: 500, result: 1_000 };
/** Texts are shortened to this part of the limits at most; after that, messages are left out. */
const MIN_SCALE = 1 / 64;

interface TranscriptLimits {
  pieceBytes: number;
  maxPieces: number;
}

/** The pieces of a transcript. Long texts are shortened until there are at most `maxPieces`. */
export function transcriptOf(messages: readonly Message[], { pieceBytes, maxPieces }: TranscriptLimits): string[] {
  for (let scale = 1; ; scale /= 2) {
    const entries = messages.flatMap((message) => entryOf(message, scale)).map((entry) => shortText(entry, pieceBytes));
    const pieces = piecesOf(entries, pieceBytes);
    if (pieces.length <= maxPieces) return pieces;
    if (scale > MIN_SCALE) continue;
    const [second = '', ...others] = pieces.slice(1 - maxPieces);
    return [...pieces.slice(0, 1), `[Messages left out here]\n\n${second}`, ...others];
  }
}

/** Fills pieces in order. No entry is longer than a piece. */
function piecesOf(entries: readonly string[], pieceBytes: number): string[] {
  const pieces: string[] = [];
  let piece: string[] = [];
  let bytes = 0;
  for (const entry of entries) {
    const size = Buffer.byteLength(entry) + 2;
    if (bytes + size > pieceBytes && piece.length > 0) {
      pieces.push(piece.join('\n\n'));
      piece = [];
      bytes = 0;
    }
    piece.push(entry);
    bytes += size;
  }
  return piece.length > 0 ? [...pieces, piece.join('\n\n')] : pieces;
}

/** Quotes text, so that it cannot look like another message or like the end of the transcript. */
function quoted(text: string): string {
  return text
    .replace(/^(?=[ \t]*(?:(?:user|assistant):|\[(?:calls |\S+ returned\])))/gim, '> ')
    .replace(/<(?=\/?transcript)/gi, '‹');
}

/** Reasoning is left out: what came of it is in the answers. */
function entryOf(message: Message, scale: number): string[] {
  const short = (text: string, limit: number) => quoted(shortText(text.trim(), limit * scale));
  const lines = message.content.map((part) => {
    switch (part.type) {
      case 'text':
        return short(part.text, message.role === 'user' ? limits.user : limits.assistant);
      case 'file':
        return `[file of type ${part.mediaType}]`;
      case 'tool-call':
        return `[calls ${part.toolName} with ${short(JSON.stringify(part.input) ?? '', limits.arguments)}]`;
      case 'tool-result':
        return `[${part.toolName} returned] ${short(outputText(part.output), limits.result)}`;
      default:
        return '';
    }
  });
  const text = lines.filter((line) => line !== '').join('\n');
  const speaker = { user: 'User: ', assistant: 'Assistant: ', tool: '' }[message.role];
  return text === '' ? [] : [`${speaker}${text}`];
}
