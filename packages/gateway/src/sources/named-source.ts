// A source of tools under the names of the gateway.
import type { CallToolResult, Tool } from '@modelcontextprotocol/client';
import { dropOldest, snapshot } from '@pocket-agent/kit';
import {
  type Judgement,
  judge,
  type ListWait,
  type SourceResources,
  type ToolCallContext,
  type ToolChoices,
  type ToolGroup,
  type ToolSource,
} from 'pocket-agent';
import type { GatewayServer, Relay } from '../callers/server.ts';
import { GatewayRequest } from '../calls/request.ts';
import { publicName } from './names.ts';

/** More than the tools of any server, in versions for many callers. */
const MAX_NAMES = 50_000;

interface NamedOptions {
  hasPrefix: boolean;
  relay?: (Relay & { resources: SourceResources }) | undefined;
}

export class NamedSource implements GatewayServer {
  /** The name of the server. */
  readonly name: string;
  readonly hasOwnSchemas: boolean | undefined;
  readonly relay: Relay | undefined;
  readonly resources: SourceResources | undefined;
  readonly #source: ToolSource;
  #calls = 0;
  #unused = Promise.withResolvers<void>();
  readonly #prefix: string | undefined;
  /** Names in the source, by public name. */
  readonly #ownNames = new Map<string, string>();
  readonly #renamed = new WeakMap<Tool, Tool>();
  readonly #originals = new WeakMap<Tool, Tool>();

  /** Without a prefix tools keep their names. */
  constructor(name: string, source: ToolSource, { hasPrefix, relay }: NamedOptions) {
    this.name = name;
    this.#source = source;
    this.#prefix = hasPrefix ? name : undefined;
    this.hasOwnSchemas = source.hasOwnSchemas;
    this.relay = relay;
    this.resources = relay?.resources ?? source.resources;
  }

  get revision(): number | undefined {
    return this.#source.revision;
  }

  refresh(isRunStart?: boolean): void {
    this.#source.refresh?.(isRunStart);
  }

  async listTools(signal?: AbortSignal, wait?: ListWait): Promise<Tool[]> {
    const tools = new Map<string, Tool>();
    for (const tool of await this.#source.listTools(signal, wait)) {
      const renamed = this.#withPublicName(tool);
      if (!tools.has(renamed.name)) tools.set(renamed.name, renamed); // listed twice: the first counts
    }
    return [...tools.values()];
  }

  async callTool(name: string, args: Record<string, unknown>, context: ToolCallContext): Promise<CallToolResult> {
    this.#calls++;
    try {
      const answer = await this.#source.callTool(this.#ownNames.get(name) ?? name, args, this.#asking(context));
      const { current } = GatewayRequest;
      if (current?.callId === context.toolCallId) current.answer = answer;
      return answer;
    } finally {
      if (--this.#calls === 0) this.#unused.resolve();
    }
  }

  /** A question names the server as the gateway does. */
  #asking(context: ToolCallContext): ToolCallContext {
    const { elicit } = context;
    if (!elicit) return context;
    return { ...context, elicit: (params, from) => elicit(params, { ...from, server: this.name }) };
  }

  /** Resolves when no call is in progress. */
  whenUnused(): Promise<void> {
    if (this.#calls === 0) return Promise.resolve();
    this.#unused = Promise.withResolvers();
    return this.#unused.promise;
  }

  judge(tool: Tool): Judgement {
    const original = this.#original(tool);
    const judgement = this.#source.judge?.(original) ?? judge(original);
    return { ...judgement, ownName: judgement.ownName ?? original.name };
  }

  /** What the server is about helps to find its tools. */
  group(tool: Tool): ToolGroup {
    const { description } = this.#source.group?.(this.#original(tool)) ?? {};
    return { name: this.name, description };
  }

  choices(tool: Tool): ToolChoices | undefined {
    return this.#source.choices?.(this.#original(tool));
  }

  #withPublicName(tool: Tool): Tool {
    const ownName = this.#source.judge?.(tool).ownName ?? tool.name;
    const name = publicName(this.#prefix, ownName);
    this.#ownNames.delete(name); // the newest are kept
    this.#ownNames.set(name, tool.name);
    dropOldest(this.#ownNames, MAX_NAMES);
    const known = this.#renamed.get(tool);
    if (known) return known;
    // the same object at every listing, because caches have the tool as their key
    const renamed = name === tool.name ? tool : snapshot({ ...tool, name });
    this.#renamed.set(tool, renamed);
    this.#originals.set(renamed, tool);
    return renamed;
  }

  #original(tool: Tool): Tool {
    return this.#originals.get(tool) ?? tool;
  }
}
