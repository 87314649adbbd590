// Parses YAML once: the same files are read by a list of folders, by every agent that uses them, and after an edit of another.
import { type Document, LineCounter, parseAllDocuments } from 'yaml';

export interface ParsedYaml {
  /** Shared, so do not change them. */
  documents: readonly Document.Parsed[];
  lines: LineCounter;
}

/** A parsed text takes a multiple of its length. */
const MAX_CHARACTERS = 200_000;

/** By their text, least recently used first. */
const parsed = new Map<string, ParsedYaml>();
let characters = 0;

export function parseYaml(text: string): ParsedYaml {
  const known = parsed.get(text);
  const result = known ?? parse(text);
  if (known) parsed.delete(text);
  else characters += text.length;
  parsed.set(text, result);
  for (const oldest of parsed.keys()) {
    if (characters <= MAX_CHARACTERS) break;
    parsed.delete(oldest);
    characters -= oldest.length;
  }
  return result;
}

function parse(text: string): ParsedYaml {
  const lines = new LineCounter();
  const documents = parseAllDocuments(text, { lineCounter: lines, prettyErrors: false, merge: true });
  return { documents: [...documents], lines };
}
