// What the bot is made from.
import type { ClientOptions } from 'discord.js';
import type {
  Capability,
  CompletionOptions,
  LanguageModel,
  Logger,
  McpServerEntry,
  ModelSettings,
  Prices,
} from 'pocket-agent';
import type { DatabasePlace } from '../store/schema.ts';
import type { DailyBudget } from '../store/spending.ts';

export interface ModelChoice {
  /** What people choose, and, without `model`, what is resolved: `anthropic/…`, `gpt-…`, `demo`. */
  name: string;
  model?: LanguageModel;
  modelSettings?: ModelSettings;
  /** Go with every call of it, also those after tools: `temperature`, `maxOutputTokens`, `reasoning`, … */
  completionOptions?: CompletionOptions;
  /** How much of a conversation it takes, in tokens. Default 100,000. */
  contextTokens?: number;
  /** Whether it sees pictures. Default: when its name is one of OpenAI, Anthropic or Google. */
  vision?: boolean;
}

export interface BotLimits {
  /** Questions of one person in a minute. Default 10. */
  perUserPerMinute?: number;
  /** Questions of one guild in a minute. Default 120. */
  perGuildPerMinute?: number;
  /** Questions of one person that wait or run. Default 3. */
  waitingPerUser?: number;
  /** Time for one answer. Default 600,000. */
  runTimeoutMs?: number;
  /** Steps of one answer. Default 25. */
  maxSteps?: number;
  /** A question for approval expires after this. Default 120,000. */
  approvalTimeoutMs?: number;
}

export interface ReplyOptions {
  /** Between edits. Default 1,000. */
  editIntervalMs?: number;
  /** Longer answers go into a file. Default 5. */
  maxParts?: number;
}

export interface BotOptions {
  token: string;
  /** Another API than Discord's, for example of a local counterpart. */
  apiUrl?: string;
  /** Hosts that files are read from beside that of `apiUrl`: its CDN, when it has one. */
  fileHosts?: readonly string[];
  database: DatabasePlace;
  /** The first one is used until somebody chooses. */
  models: readonly ModelChoice[];
  /** Directories of tool folders, or names of bundled ones (`web`, `github`, `notes`); all are enabled until a user chooses. */
  toolDirectories?: readonly string[];
  /** What tools in `toolDirectories` can do whose manifest says nothing of it. Default `delete`. */
  defaultCapability?: Capability;
  /** MCP servers that every conversation can choose. */
  mcpServers?: Readonly<Record<string, McpServerEntry>>;
  /** Hosts on which admins of guilds may bring MCP servers along; `*` for any. Default none. */
  mcpHosts?: readonly string[];
  /** Ids of the guilds that are served. Default: all that have added the bot. */
  guilds?: readonly string[];
  /** Ids of the people who are served in direct messages. Default: all. */
  directMessages?: readonly string[];
  /** Who the bot is; rules for Discord are added. */
  systemPrompt?: string;
  /** A day's dollars for every person and every guild; a guild can set less. */
  budget?: DailyBudget;
  prices?: Prices;
  limits?: BotLimits;
  reply?: ReplyOptions;
  /**
   * Hosts whose links Discord may preview in what a model wrote, such as `example.com`, `*.example.com`, or `*`, if a message has
   * no other links. Default none.
   */
  allowLinkHosts?: readonly string[];
  /** Port of the health endpoint; 0 for any. Default: none. */
  healthPort?: number;
  /** A process that has not been seen for so long is taken for dead. Default 45,000. */
  leaseMs?: number;
  /** Questions that came while nobody was there are answered when they are not older. Default 900,000. */
  catchUpMs?: number;
  /** What runs gets so long to end when the bot is closed. Default 6,000. */
  closeGraceMs?: number;
  logger?: Logger;
  /** For discord.js: shards and the like. */
  client?: Partial<ClientOptions>;
}
