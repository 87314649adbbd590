// What goes into a script and comes out of it: results of tools as values, images and files as handles.
import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client';
import { PocketError } from '@pocket-agent/kit';

type FileBlock = Extract<ContentBlock, { type: 'image' | 'audio' | 'resource' }>;

/** How deep returned values are searched for handles. */
const MAX_DEPTH = 100;

/** The files that a script got. It sees a handle of each; the files of returned handles are part of its result. */
export class ScriptFiles {
  readonly #files: FileBlock[] = [];
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Returns the handle of a file. */
  add(block: FileBlock): Record<string, unknown> {
    const { mimeType, data } = dataOf(block);
    this.#bytes += data.length;
    if (this.#bytes > this.#maxBytes) {
      throw new PocketError(
        'TOOL_FAILED',
        `The files of a script may have at most ${this.#maxBytes} characters of base64.`,
      );
    }
    const id = this.#files.push(block);
    return { $file: id, type: mimeType, bytes: Math.floor((data.length * 3) / 4) };
  }

  /** The files whose handles are in a value, each once. */
  in(value: unknown): FileBlock[] {
    const ids = new Set<number>();
    const look = (each: unknown, depth: number): void => {
      if (typeof each !== 'object' || each === null || depth > MAX_DEPTH) return;
      if ('$file' in each && typeof each.$file === 'number') ids.add(each.$file);
      for (const inner of Object.values(each)) look(inner, depth + 1);
    };
    look(value, 0);
    return [...ids].flatMap((id) => this.#files[id - 1] ?? []);
  }
}

/** The result of a tool as a script sees it. */
export function resultValue({ content = [], structuredContent }: CallToolResult, files: ScriptFiles): unknown {
  if (structuredContent !== undefined) return structuredContent;
  const values = content.map((block) => blockValue(block, files));
  return values.length > 1 ? values : (values[0] ?? null);
}

function blockValue(block: ContentBlock, files: ScriptFiles): unknown {
  if (block.type === 'text') return textValue(block.text);
  if (block.type === 'resource_link') return { uri: block.uri, name: block.name };
  if (block.type === 'resource' && 'text' in block.resource) return textValue(block.resource.text);
  return files.add(block);
}

/** JSON as a value, but only numbers that keep all their digits. */
function textValue(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    const isWhole = (typeof value === 'object' && value !== null) || String(value) === text;
    return isWhole ? value : text;
  } catch {
    return text;
  }
}

function dataOf(block: FileBlock): { mimeType: string; data: string } {
  if (block.type !== 'resource') return block;
  const { resource } = block;
  const data = 'blob' in resource ? resource.blob : '';
  return { mimeType: resource.mimeType ?? 'application/octet-stream', data };
}
