// The hooks of an agent that concern one tool call; `AgentHooks` describes them.
import type { CallToolResult } from '@modelcontextprotocol/client';
import type { ToolCall, ToolResult } from '../base/tool-call.ts';

export interface ToolDenial {
  deny: string;
}

export type Awaitable<Value> = Value | Promise<Value>;
// biome-ignore lint/suspicious/noConfusingVoidType: what TypeScript calls the result of a hook that returns nothing
export type OrNothing<Value = undefined> = Value | undefined | void;

export interface ToolHooks<Context> {
  preToolCall?(context: Context, call: ToolCall): Awaitable<OrNothing<ToolCall | ToolDenial>>;
  postToolCall?(context: Context, call: ToolCall, result: ToolResult): Awaitable<OrNothing<ToolResult>>;
  onToolError?(context: Context, call: ToolCall, error: Error): Awaitable<OrNothing<string | false>>;
  onToolResult?(context: Context, call: ToolCall, result: CallToolResult): Awaitable<ToolResult>;
}
