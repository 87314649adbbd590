// What the parts of the bot share.
import type { HttpFetch } from '@pocket-agent/http/fetch';
import type { Client } from 'discord.js';
import type { Logger } from 'pocket-agent';
import type { Approvals } from './access/approvals.ts';
import type { Claims } from './conversation/claims.ts';
import type { History } from './conversation/history.ts';
import type { Holdings } from './conversation/holdings.ts';
import type { LiveRuns } from './conversation/live-runs.ts';
import type { Notices } from './conversation/notices.ts';
import type { Spending } from './conversation/spending.ts';
import type { Models } from './models.ts';
import type { BotOptions } from './options.ts';
import type { Settings } from './settings/settings.ts';
import type { Catalogue } from './toolbox/catalogue.ts';
import type { Servers } from './toolbox/servers.ts';

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
