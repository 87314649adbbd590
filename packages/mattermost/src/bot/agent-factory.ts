// Creates agents for conversations, with the Mattermost tools in this process. Loads pocket-agent on first use.
import type { McpServer } from '@modelcontextprotocol/server';
import { installCommand } from '@pocket-agent/kit';
import type { PocketAgent, PocketAgentOptions } from 'pocket-agent';
import { narrower, type Profile } from '../base/access.ts';
import { MattermostError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { MattermostConfig } from '../config/config.ts';
import { createMattermostServer, type MattermostServer } from '../server/server.ts';
import type { BotOptions, ConversationInfo } from './options.ts';

export class AgentFactory {
  readonly #createAgent: BotOptions['agent'];
  readonly #tools: MattermostTools | undefined;

  constructor({ agent, config, profile = 'reader' }: BotOptions, log: Log) {
    this.#createAgent = agent;
    this.#tools = profile === 'none' ? undefined : new MattermostTools({ config, profile, log });
  }

  async create(conversation: ConversationInfo): Promise<PocketAgent<unknown>> {
    const created = await this.#createAgent?.(conversation);
    if (!created) throw new MattermostError('CONFIG_INVALID', 'The bot has no agent.');
    if ('run' in created) return created;
    const { PocketAgent } = await loadPocketAgent();
    return new PocketAgent(this.#tools ? await this.#tools.addTo(created) : created);
  }

  close(): void {
    this.#tools?.close();
  }
}

export class MattermostTools {
  readonly #server: MattermostServer;

  constructor({ config, profile, log }: { config: MattermostConfig; profile: Profile; log: Log }) {
    this.#server = createMattermostServer({ ...config, profile: narrower(profile, config.profile) }, { log });
  }

  /** Adds an MCP server named mattermost to the options. */
  async addTo(options: PocketAgentOptions): Promise<PocketAgentOptions> {
    const server = await this.#server.factory({ era: 'legacy' });
    const mattermost = { server: server as McpServer };
    const { mcpServers, mcpConfig, ...others } = options;
    return { ...others, mcpConfig: { mcpServers: { ...(mcpServers ?? serversOf(mcpConfig)), mattermost } } };
  }

  close(): void {
    this.#server.close();
  }
}

export async function loadPocketAgent(): Promise<typeof import('pocket-agent')> {
  try {
    return await import('pocket-agent');
  } catch (error) {
    throw new MattermostError(
      'CONFIG_INVALID',
      `The bot needs the package pocket-agent: ${installCommand('pocket-agent')}.`,
      { cause: error },
    );
  }
}

type Servers = Extract<PocketAgentOptions['mcpConfig'], { mcpServers?: unknown }>['mcpServers'];

function serversOf(config: PocketAgentOptions['mcpConfig']): Servers {
  if (config === undefined) return {};
  if (typeof config === 'function' || 'connect' in config || 'createServer' in config)
    return { local: { server: config } };
  return config.mcpServers ?? config.servers ?? {};
}
