// A server of the gateway as callers use it: tools, resources, and what it offers besides.
import type {
  CompleteRequest,
  CompleteResult,
  GetPromptResult,
  Prompt,
  ResourceTemplateType,
} from '@modelcontextprotocol/client';
import type { JudgedTool, SourceResource, ToolSource } from 'pocket-agent';
import type { RunContext } from 'pocket-agent/internal/gate';

export interface GatewayServer extends ToolSource {
  /** Undefined for sources that are not MCP servers. */
  readonly relay?: Relay | undefined;
}

export interface ListedPrompt {
  /** The prompt, with its name here. */
  prompt: Prompt;
  /** The server's name for it. */
  ownName: string;
  /** Rules judge it like a tool. */
  judged: JudgedTool;
}

export interface ListedTemplate {
  template: ResourceTemplateType;
  judged: JudgedTool;
}

/** A resource of an MCP server, which may announce its changes. */
export interface RelayedResource extends SourceResource {
  /** A client watches it, as the caller of this run. Returns a function that stops this. */
  watch(run: RunContext): Promise<() => void>;
}

/** Requests to one MCP server, for the caller of the current run. */
export interface Relay {
  prompts(): Promise<ListedPrompt[]>;
  templates(): Promise<ListedTemplate[]>;
  getPrompt(name: string, args: Record<string, string>): Promise<GetPromptResult>;
  complete(params: CompleteRequest['params']): Promise<CompleteResult>;
}
