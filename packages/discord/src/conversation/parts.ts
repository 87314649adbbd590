// What the parts of the bot share.
import type { HttpFetch } from '@pocket-agent/http/fetch';
import type { Client } from 'discord.js';
import type { Logger } from 'pocket-agent';
import type { Approvals } from '../access/approvals.ts';
import type { Models } from '../config/models.ts';
import type { BotOptions } from '../config/options.ts';
import type { Claims } from '../store/claims.ts';
import type { Settings } from '../store/guild-settings.ts';
import type { History } from '../store/history.ts';
import type { Holdings } from '../store/ownership.ts';
import type { Spending } from '../store/spending.ts';
import type { Catalogue } from '../toolbox/catalogue.ts';
import type { Servers } from '../toolbox/mcp-servers.ts';
import type { LiveRuns } from './live-runs.ts';
import type { Notices } from './queue-notices.ts';

export interface BotParts {
  readonly client: Client<true>;
  readonly options: BotOptions;
  readonly logger: Logger;
  /** For agents: what providers and servers tell in passing may repeat what people wrote. */
  readonly agentLogger: Logger;
  /** Aborted when what still runs has had its time. */
  readonly closing: AbortSignal;
  readonly holdings: Holdings;
  readonly claims: Claims;
  readonly history: History;
  readonly spending: Spending;
  readonly settings: Settings;
  readonly models: Models;
  readonly catalogue: Catalogue;
  readonly servers: Servers;
  readonly approvals: Approvals;
  readonly runs: LiveRuns;
  readonly notices: Notices;
  readonly fetch: HttpFetch;
}
