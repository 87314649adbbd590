// A server of the gateway as callers use it: tools, resources, and what it offers besides.
import type {
  CompleteRequest,
  CompleteResult,
  GetPromptResult,
  Prompt,
  ResourceTemplateType,
} from '@modelcontextprotocol/client';
import type { JudgedTool, ToolSource } from 'pocket-agent';

export interface GatewayServer extends ToolSource {
  /** Undefined for sources that are not MCP servers. */
  readonly relay?: Relay | undefined;
}

export interface ListedPrompt {
  /** With its name here. */
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

/** Requests to one MCP server, for the caller of the current run. */
export interface Relay {
  prompts(): Promise<ListedPrompt[]>;
  templates(): Promise<ListedTemplate[]>;
  getPrompt(name: string, args: Record<string, string>): Promise<GetPromptResult>;
  complete(params: CompleteRequest['params']): Promise<CompleteResult>;
}
