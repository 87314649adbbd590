// The options of the bot.
import type { ClientOptions } from 'discord.js';
import type {
  ApprovalAnswer,
  ApprovalRequest,
  Capability,
  CompletionOptions,
  EventListener,
  LanguageModel,
  Logger,
  McpServerEntry,
  ModelCallListener,
  ModelSettings,
  Prices,
} from 'pocket-agent';
import type { DatabaseLocation } from '../store/schema.ts';
import type { DailyBudget } from '../store/spending.ts';

/** A model that users can choose with `/model`. */
export interface ModelChoice {
  /** The name that users choose. Without `model` it is also the model id: `anthropic/…`, `gpt-…`, `demo`. */
  name: string;
  model?: LanguageModel;
  modelSettings?: ModelSettings;
  /** Sent with every model call: `temperature`, `maxOutputTokens`, `reasoning`, … */
  completionOptions?: CompletionOptions;
  /** Context window in tokens. Default 100,000. */
  contextTokens?: number;
  /** Whether the model reads images. Default: true for names of OpenAI, Anthropic and Google models. */
  vision?: boolean;
}

/** Limits on the questions of users and guilds, and on single answers. */
export interface BotLimits {
  /** Questions per user and minute. Default 10. */
  perUserPerMinute?: number;
  /** Questions per guild and minute. Default 120. */
  perGuildPerMinute?: number;
  /** Open questions per user, waiting or running. Default 3. */
  waitingPerUser?: number;
  /** Time limit of one answer in milliseconds. Default 600,000. */
  runTimeoutMs?: number;
  /** Maximum steps of one answer. Default 25. */
  maxSteps?: number;
  /** Time limit of an approval in milliseconds. Default 120,000. */
  approvalTimeoutMs?: number;
}

/** How often a growing answer is edited, and when it becomes a file. */
export interface ReplyOptions {
  /** Minimum time between edits in milliseconds. Default 1,000. */
  editIntervalMs?: number;
  /** Answers with more messages are sent as a file. Default 5. */
  maxParts?: number;
}

/** The options of a Discord bot; token, database and models are required. */
export interface BotOptions {
  token: string;
  /** Base URL of an API other than Discord's, such as a local server for tests. */
  apiUrl?: string;
  /** Additional hosts that files may be read from, such as the CDN of `apiUrl`. */
  fileHosts?: readonly string[];
  database: DatabaseLocation;
  /** The first model is the default. */
  models: readonly ModelChoice[];
  /** Directories of tool folders, or names of included ones (`web`, `github`, `notes`). All are enabled until a user chooses. */
  toolDirectories?: readonly string[];
  /** Capability of tools in `toolDirectories` whose manifest declares none. Default `delete`. */
  defaultCapability?: Capability;
  /** MCP servers that users can choose in every conversation. */
  mcpServers?: Readonly<Record<string, McpServerEntry>>;
  /** Hosts on which guild admins may add MCP servers; `*` for any. Default: none. */
  mcpHosts?: readonly string[];
  /** Encrypts the logins of members at MCP servers: at least 32 characters, the same in all processes. Default: no logins. */
  loginKey?: string;
  /** Ids of the guilds that the bot serves. Default: all. */
  guilds?: readonly string[];
  /** Ids of the users that the bot serves in direct messages. Default: all. */
  directMessages?: readonly string[];
  /** Whether models remember facts about users, who list and erase them with `/memory`. Default false. */
  memory?: boolean;
  /** Describes the bot to the model; rules for Discord are added. */
  systemPrompt?: string;
  /** Dollars per day for each user and each guild; a guild can set less. */
  budget?: DailyBudget;
  prices?: Prices;
  limits?: BotLimits;
  reply?: ReplyOptions;
  /**
   * Hosts whose links may show previews in answers, such as `example.com`, `*.example.com` or `*`, if a message has no
   * other links. Default: none.
   */
  allowLinkHosts?: readonly string[];
  /** Port of the health endpoint; 0 for any free port. Default: no endpoint. */
  healthPort?: number;
  /** What sees the runs of each conversation and may answer for its user, such as `watch` of a studio address. */
  watch?: (conversation: WatchedConversation) => Watcher;
  /** A process without a heartbeat for this time counts as dead. In milliseconds, default 45,000. */
  leaseMs?: number;
  /** Questions that arrived while the bot was offline are answered up to this age. In milliseconds, default 900,000. */
  catchUpMs?: number;
  /** How long closing waits for running answers. In milliseconds, default 6,000. */
  closeGraceMs?: number;
  logger?: Logger;
  /** Options for discord.js, such as shards. */
  client?: Partial<ClientOptions>;
}

/** A conversation as a studio shows it. */
export interface WatchedConversation {
  id: string;
  /** The name of the bot. */
  agent: string;
}

/** Sees the events and requests to models of the runs, and may approve calls in place of the user. */
export interface Watcher {
  onEvent: EventListener;
  onModelCall?: ModelCallListener;
  approve(request: ApprovalRequest): Promise<ApprovalAnswer>;
}
