// What an MCP server offers besides tools: resources and their templates, prompts, and completions of arguments.
import {
  CLIENT_CAPABILITIES_META_KEY,
  type Client,
  type CompleteRequest,
  type CompleteResult,
  type GetPromptResult,
  type Resource,
  type ResourceTemplateType,
} from '@modelcontextprotocol/client';
import { dropOldest, type Logger } from '@pocket-agent/kit';
import {
  type JudgedTool,
  judge,
  type PocketAgentClient,
  type SourceResource,
  type SourceResources,
} from 'pocket-agent';
import { currentRun, type RunContext } from 'pocket-agent/internal/gate';
import type { ListedPrompt, ListedTemplate, Relay, RelayedResource } from '../callers/server.ts';
import { GatewayRequest } from '../calls/request.ts';
import { publicName } from './names.ts';
import { ResourceWatches } from './resource-watches.ts';
import type { GatewayServerEntry } from './server-entry.ts';

/** How long lists of a server are reused. */
const FRESH_MS = 5_000;
const MAX_LISTS = 1_000;

interface RelayOptions {
  server: string;
  client: PocketAgentClient;
  entry: GatewayServerEntry;
  hasPrefix: boolean;
  logger: Logger;
}

interface Lists {
  at: number;
  resources: Promise<Resource[]>;
  templates: Promise<ResourceTemplateType[]>;
}

export class ServerRelay implements Relay {
  readonly resources: SourceResources;
  readonly watches: ResourceWatches;
  readonly #options: RelayOptions;
  /** Lists by caller. */
  readonly #lists = new Map<string, Lists>();

  constructor(options: RelayOptions) {
    this.#options = options;
    const { server, client, entry, logger } = options;
    this.watches = new ResourceWatches({ server, client, logger, isShared: entry.shared === true });
    this.resources = {
      list: async () => (await this.#current.resources).map((resource) => this.#resource(resource)),
      templates: async () => this.#current.templates,
      find: (uri) => this.#find(uri),
    };
  }

  /** The server has announced a change. */
  changed(): void {
    this.#lists.clear();
  }

  /** A connection was made or lost. */
  reconnected(): void {
    this.changed();
    this.watches.renew();
  }

  async templates(): Promise<ListedTemplate[]> {
    const templates = await this.#current.templates;
    return templates.map((template) => ({ template, judged: this.#judged('resource', template.uriTemplate) }));
  }

  async prompts(): Promise<ListedPrompt[]> {
    const { client, server, hasPrefix } = this.#options;
    return (await client.listPrompts()).map(({ server: _server, ...prompt }) => {
      const name = publicName(hasPrefix ? server : undefined, prompt.name);
      return { prompt: { ...prompt, name }, ownName: prompt.name, judged: this.#judged('prompt', prompt.name) };
    });
  }

  getPrompt(name: string, args: Record<string, string>): Promise<GetPromptResult> {
    const { client, server } = this.#options;
    return client.request(server, (sdk, meta) =>
      sdk.getPrompt({ name, arguments: args, _meta: metaFor(sdk, meta) }, withSignal()),
    );
  }

  complete(params: CompleteRequest['params']): Promise<CompleteResult> {
    const { client, server } = this.#options;
    return client.request(server, async (sdk) => {
      if (!sdk.getServerCapabilities()?.completions) return { completion: { values: [] } };
      return sdk.complete(params, withSignal());
    });
  }

  get #current(): Lists {
    const caller = currentRun()?.policy.caller ?? '';
    const known = this.#lists.get(caller);
    if (known && Date.now() - known.at < FRESH_MS) return known;
    const { client } = this.#options;
    // a server that fails has none, and a warning is logged
    const resources = client.listResources().then((all) => all.map(({ server: _server, ...resource }) => resource));
    const templates = client.listResourceTemplates().then((all) => all.map(({ server: _server, ...each }) => each));
    const lists = { at: Date.now(), resources, templates };
    this.#lists.delete(caller);
    this.#lists.set(caller, lists);
    dropOldest(this.#lists, MAX_LISTS);
    return lists;
  }

  /** A resource that is listed, or begins like one of the templates. With plain names there is one server, which gets every address. */
  async #find(uri: string): Promise<SourceResource | undefined> {
    const { resources, templates } = this.#current;
    const listed = (await resources).find((resource) => resource.uri === uri);
    if (listed) return this.#resource(listed);
    const isOfTemplate = (await templates).some(({ uriTemplate }) => beginsLike(uri, uriTemplate));
    return isOfTemplate || !this.#options.hasPrefix ? this.#resource({ uri, name: uri }) : undefined;
  }

  #resource(resource: Resource): RelayedResource {
    const { client, server } = this.#options;
    const { uri } = resource;
    const read = () =>
      client.request(server, (sdk, meta) => sdk.readResource({ uri, _meta: metaFor(sdk, meta) }, withSignal()));
    const watch = (run: RunContext) => this.watches.add(uri, run);
    return { resource, judged: this.#judged('resource', uri), read, watch };
  }

  #judged(kind: 'resource' | 'prompt', name: string): JudgedTool {
    const named = { name: `${kind}:${this.#options.server}:${name}`, annotations: { readOnlyHint: true } };
    return {
      ...judge(named, this.#options.entry),
      name: named.name,
      tool: { ...named, inputSchema: { type: 'object' } },
    };
  }
}

/** Compares the part before the first variable, not a pattern: those of servers may be slow to match. It must have a scheme. */
function beginsLike(uri: string, template: string): boolean {
  const end = template.indexOf('{');
  const start = end < 0 ? template : template.slice(0, end);
  return start.includes(':') && uri.startsWith(start);
}

/** Servers of the 2025 era were told at the start of the session what they may ask. */
function metaFor(sdk: Client, meta: { progressToken: string }): { progressToken: string } {
  const { [CLIENT_CAPABILITIES_META_KEY]: capabilities, ...own } = GatewayRequest.current?.meta ?? {};
  const isModern = sdk.getProtocolEra() === 'modern';
  return { ...own, ...(isModern && capabilities ? { [CLIENT_CAPABILITIES_META_KEY]: capabilities } : {}), ...meta };
}

function withSignal(): { signal?: AbortSignal } {
  const signal = currentRun()?.signal;
  return signal ? { signal } : {};
}
