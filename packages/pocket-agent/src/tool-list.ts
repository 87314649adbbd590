// The tools of one MCP server as they were last listed, kept until the server says that they changed.
import type { Client, McpSubscription, Tool } from '@modelcontextprotocol/client';
import { abortable } from './abort.ts';
import { errorText } from './errors.ts';
import type { Logger } from './logger.ts';
import { sharedTool } from './shared-tools.ts';

export class ToolList {
  /** Grows whenever the list may have changed. */
  revision = 0;
  /** The last list, kept over a loss: it says which calls are harmless to repeat. */
  #known: readonly Tool[] = [];
  /** Shared by everybody who waits for the list. */
  #reading: Promise<readonly Tool[]> | undefined;
  /** A client whose server stopped telling of changes, and must be asked to do so again. */
  #unwatched: Client | undefined;
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  find(name: string): Tool | undefined {
    return this.#known.find((tool) => tool.name === name);
  }

  changed(): void {
    this.#reading = undefined;
    this.revision++;
  }

  async read(client: Client, signal: AbortSignal | undefined): Promise<readonly Tool[]> {
    this.#reading ??= this.#ask(client);
    this.#known = await (signal ? abortable(this.#reading, signal) : this.#reading);
    return this.#known;
  }

  /** In the 2026 era changes come over a subscription, which may end while the server lives on. */
  watch(client: Client, subscription: McpSubscription | undefined = client.autoOpenedSubscription): void {
    subscription?.closed.then((cause) => {
      if (cause === 'local') return;
      this.#unwatched = client;
      this.changed();
    });
  }

  async #ask(client: Client): Promise<readonly Tool[]> {
    if (this.#unwatched === client) {
      this.#unwatched = undefined;
      await client.listen({ toolsListChanged: true }).then(
        (subscription) => this.watch(client, subscription),
        (error) => this.#logger.debug(`No changes of tools will be heard: ${errorText(error)}`),
      );
    }
    // asked all the same, the SDK would print to stdout
    if (!client.getServerCapabilities()?.tools) return [];
    return (await client.listTools(undefined, { cacheMode: 'refresh' })).tools.map(sharedTool);
  }
}
