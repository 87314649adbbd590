// The parts of the bot, passed to functions that need several of them.
import type { HttpFetch } from '@pocket-agent/http/fetch';
import type { Conversations } from '@pocket-agent/store';
import type { Client } from 'discord.js';
import type { Logger } from 'pocket-agent';
import type { Approvals } from '../access/approvals.ts';
import type { Models } from '../config/models.ts';
import type { BotOptions } from '../config/options.ts';
import type { ScheduledPrompts } from '../schedules/scheduled-prompts.ts';
import type { Claims } from '../store/claims.ts';
import type { SettingsStore } from '../store/guild-settings.ts';
import type { History } from '../store/history.ts';
import type { ConversationOwnership } from '../store/ownership.ts';
import type { Spending } from '../store/spending.ts';
import type { Catalogue } from '../toolbox/catalogue.ts';
import type { McpServers } from '../toolbox/mcp-servers.ts';
import type { MemberLogins } from '../toolbox/member-logins.ts';
import type { LiveRuns } from './live-runs.ts';
import type { QueueNotices } from './queue-notices.ts';

export interface BotParts {
  readonly client: Client<true>;
  readonly options: BotOptions;
  readonly logger: Logger;
  /** For agents: logs info messages at level debug, because they may repeat what users wrote. */
  readonly agentLogger: Logger;
  /** Aborts when running answers must end because the bot closes. */
  readonly closing: AbortSignal;
  readonly ownership: ConversationOwnership;
  readonly claims: Claims;
  /** The conversations and memories of the bot. */
  readonly chats: Conversations;
  readonly history: History;
  readonly spending: Spending;
  readonly settings: SettingsStore;
  readonly schedules: ScheduledPrompts;
  readonly models: Models;
  readonly catalogue: Catalogue;
  readonly servers: McpServers;
  /** Undefined without a key to encrypt them. */
  readonly logins: MemberLogins | undefined;
  readonly approvals: Approvals;
  readonly runs: LiveRuns;
  readonly notices: QueueNotices;
  readonly fetch: HttpFetch;
}
