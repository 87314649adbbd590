// Parses YAML, with a cache by content: the same file is read for every agent, and again when another file is edited.
import { type Document, LineCounter, parseAllDocuments } from 'yaml';

interface ParsedYaml {
  /** Shared by all readers of the same text. Do not change them. */
  documents: readonly Document.Parsed[];
  lines: LineCounter;
}

/** Of all cached texts. A parsed text takes several times its length. */
const MAX_CHARACTERS = 200_000;

/** By text, least recently used first. */
const cache = new Map<string, ParsedYaml>();
let characters = 0;

export function parseYaml(text: string): ParsedYaml {
  const cached = cache.get(text);
  const result = cached ?? parse(text);
  if (cached) cache.delete(text);
  else characters += text.length;
  cache.set(text, result);
  for (const oldest of cache.keys()) {
    if (characters <= MAX_CHARACTERS) break;
    cache.delete(oldest);
    characters -= oldest.length;
  }
  return result;
}

function parse(text: string): ParsedYaml {
  const lines = new LineCounter();
  const documents = parseAllDocuments(text, { lineCounter: lines, prettyErrors: false, merge: true });
  return { documents: [...documents], lines };
}
