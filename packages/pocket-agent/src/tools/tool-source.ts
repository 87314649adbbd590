// The one interface behind MCP servers, sub-agents, plain functions and tool folders: list tools, call one.
import type { CallToolResult, Tool } from '@modelcontextprotocol/client';
import { type Judgement, judge } from '../access/capabilities.ts';
import type { ToolProgress } from '../base/tool-call.ts';

/** Passed to a source with each call. */
export interface ToolCallContext {
  toolCallId: string;
  /** Aborted when the run is, and when it is out of time. */
  signal: AbortSignal;
  progress(update: ToolProgress): void;
  /** Travels to MCP servers as `_meta`: ids and names of call and agent, trace context, own metadata. */
  meta: Record<string, unknown>;
}

/** all: wait for every tool. ready: the tools available soon; the rest follows with a new `revision`. */
export type ListWait = 'all' | 'ready';

/** Default of `waitMs`: how long `ready` waits for a server or remote agent. */
export const DEFAULT_WAIT_MS = 10_000;

export interface ToolSource {
  readonly name: string;
  /** True if the program itself wrote the schemas of the tools; others are checked in another process. */
  readonly hasOwnSchemas?: boolean | undefined;
  /** Changes whenever `listTools()` would answer differently; without it the list is read once. */
  readonly revision?: number | undefined;
  /**
   * Called at every step, before `revision` is read, to notice servers that came back. Must be quick. At the start of a
   * run, servers that are unavailable are tried without a delay.
   */
  refresh?(isRunStart?: boolean): void;
  /** A changed tool must be a new object: tools are remembered by identity. */
  listTools(signal?: AbortSignal, wait?: ListWait): readonly Tool[] | Promise<readonly Tool[]>;
  /** Resolves with the tool's result, also one with `isError`; rejects if there is no result. */
  callTool(name: string, args: Record<string, unknown>, context: ToolCallContext): Promise<CallToolResult>;
  /** The capability of a tool by the source's own configuration. */
  judge?(tool: Tool): Judgement;
  close?(): void | Promise<void>;
}

/** The same source for a user that must not close it. */
export function withoutClose(source: ToolSource): ToolSource {
  return {
    name: source.name,
    hasOwnSchemas: source.hasOwnSchemas,
    get revision() {
      return source.revision;
    },
    refresh: (isRunStart) => source.refresh?.(isRunStart),
    listTools: (signal, wait) => source.listTools(signal, wait),
    callTool: (name, args, context) => source.callTool(name, args, context),
    judge: (tool) => source.judge?.(tool) ?? judge(tool),
  };
}

/** A copy of a tool's input schema that becomes JSON where a string is wanted, as in a message to a model. */
export function inputFormatOf({ inputSchema }: Tool): Tool['inputSchema'] {
  return Object.defineProperty({ ...inputSchema }, 'toString', { value: () => JSON.stringify(inputSchema) });
}
