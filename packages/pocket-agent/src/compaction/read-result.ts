// The tool `read_result`: reads a part of a large result, or searches it. Offered once there is a result to read.
import type { CallToolResult, Tool } from '@modelcontextprotocol/client';
import type { JudgedTool, Judgement } from '../access/capabilities.ts';
import type { Exposure } from '../access/exposure.ts';
import { type FunctionTool, functionTools, tool } from '../tools/function-tool.ts';
import type { ToolCallContext, ToolChoices, ToolSource } from '../tools/tool-source.ts';
import { type ResultSource, readPage, searchIn } from './result-pages.ts';

export const READ_RESULT = 'read_result';

const DEFAULT_PAGE_BYTES = 16_000;
const MAX_MATCHES = 20;
const MAX_SEARCH_CHARACTERS = 200;

/** The results that an agent can read again. */
export interface ReadableResults {
  /** All tools whose results can be read. */
  tools(): string[];
  /** The tool that a result came from. */
  toolOf(id: string): string | undefined;
  /** That tool, as rules judge reading its results. */
  judged(name: string): JudgedTool;
  /** The most that one call returns. */
  readonly maxPageBytes: number;
  /** Calls `work` with the whole result, or with what is left of it. */
  read(id: string, work: (source: ResultSource) => Promise<string>): Promise<string>;
}

/** Lists `read_result` once there is a result to read. */
export class ReadResultSource implements ToolSource {
  readonly name = 'results';
  readonly hasOwnSchemas = true;
  /** Changes with the tools whose access rules apply. */
  revision = 0;
  readonly #origins = new Set<string>();
  readonly #results: ReadableResults;
  readonly #tools: ToolSource;

  constructor(results: ReadableResults) {
    this.#results = results;
    this.#tools = functionTools([readResult(results)], this.name);
  }

  noteOrigin(tool: string): void {
    if (this.#origins.has(tool)) return;
    this.#origins.add(tool);
    this.revision++;
  }

  listTools(): readonly Tool[] | Promise<readonly Tool[]> {
    return this.#tools.listTools();
  }

  callTool(name: string, args: Record<string, unknown>, context: ToolCallContext): Promise<CallToolResult> {
    return this.#tools.callTool(name, args, context);
  }

  judge(): Judgement {
    return { capability: 'read', from: 'config' };
  }

  exposure(): Exposure {
    return 'direct';
  }

  /** A call is judged as the tool whose result it reads. */
  choices(tool: Tool): ToolChoices {
    const results = this.#results;
    return {
      all: results.tools().map((name) => results.judged(name)),
      chosenBy: ({ id }) => {
        const origin = typeof id === 'string' ? results.toolOf(id) : undefined;
        return origin === undefined ? undefined : results.judged(origin);
      },
      limitedTo: () => tool,
    };
  }
}

function readResult(results: ReadableResults): FunctionTool {
  return tool({
    name: READ_RESULT,
    description:
      'Reads a result of an earlier tool call that was cut or left out. Returns a part of its text by position, or with "search" the positions where a text occurs.',
    annotations: { readOnlyHint: true },
    inputSchema: {
      type: 'object',
      properties: {
        id: { type: 'string', description: 'The id in the note that stands in place of the result' },
        from: { type: 'integer', minimum: 0, description: 'Position of the first byte. Default 0' },
        bytes: { type: 'integer', minimum: 1, description: `How much to read. Default ${DEFAULT_PAGE_BYTES}` },
        search: { type: 'string', minLength: 1, maxLength: MAX_SEARCH_CHARACTERS, description: 'Text to search for' },
      },
      required: ['id'],
      additionalProperties: false,
    },
    run: ({ id, from = 0, bytes = DEFAULT_PAGE_BYTES, search }) =>
      results.read(String(id), async (source) => {
        if (typeof search === 'string') return matchesText(source, search);
        return pageText(source, Number(from), Math.min(Number(bytes), results.maxPageBytes));
      }),
  });
}

async function pageText(source: ResultSource, from: number, bytes: number): Promise<string> {
  if (from >= source.bytes) return `[The result has ${source.bytes} bytes; there is nothing at ${from}.]`;
  // at least one whole character
  const page = await readPage(source, from, Math.max(bytes, 4));
  const end = page.to >= source.bytes ? 'the end' : `continue at ${page.to}`;
  return `[Bytes ${page.from} to ${page.to} of ${source.bytes}; ${end}]\n${page.text}`;
}

async function matchesText(source: ResultSource, search: string): Promise<string> {
  const matches = await searchIn(source, search, MAX_MATCHES);
  if (matches.length === 0) return `[Not found in ${source.bytes} bytes.]`;
  const more = matches.length === MAX_MATCHES ? `\n[The first ${MAX_MATCHES} places; there may be more.]` : '';
  return `${matches.map(({ at, text }) => `at ${at}: ${text}`).join('\n')}${more}`;
}
