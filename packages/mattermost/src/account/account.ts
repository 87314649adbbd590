// One Mattermost account: its token, cached names and access policy. Creates the context of each tool call.

import { MattermostError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { MattermostApi } from '../client/api.ts';
import type { HttpPool } from '../client/http-pool.ts';
import { isId } from '../client/id.ts';
import type { MattermostConfig } from '../config/config.ts';
import { Names } from './names.ts';
import { Policy } from './policy.ts';

export interface ToolContext {
  config: MattermostConfig;
  api: MattermostApi;
  names: Names;
  policy: Policy;
  /** Returns `teamId`, or the id of the default team. */
  team(teamId: string | undefined): Promise<string>;
  /** Reports the progress of a long call to the client. */
  progress(done: number, total: number): void;
}

interface AccountOptions {
  config: MattermostConfig;
  pool: HttpPool;
  token: string;
  log: Log;
  /** Aborted when the server closes. */
  signal: AbortSignal;
  /** Called when Mattermost rejects the token. */
  onTokenRejected?: () => void;
}

export class Account {
  readonly #options: AccountOptions;
  readonly names: Names;
  readonly policy: Policy;

  constructor(options: AccountOptions) {
    this.#options = options;
    // lookups are shared by several calls, so they do not use the signal of one call
    const api = new MattermostApi(options);
    this.names = new Names(api);
    this.policy = new Policy({ config: options.config, names: this.names, api });
  }

  context(signal: AbortSignal, progress: (done: number, total: number) => void): ToolContext {
    const { names, policy } = this;
    const { config } = this.#options;
    const api = new MattermostApi({ ...this.#options, signal });
    return { config, api, names, policy, progress, team: (teamId) => this.#team(teamId) };
  }

  async #team(teamId: string | undefined): Promise<string> {
    const { defaultTeam } = this.#options.config;
    if (teamId !== undefined) return teamId;
    if (defaultTeam === undefined) {
      const text = 'team_id is missing: use one from list_teams, or set MATTERMOST_DEFAULT_TEAM on this server.';
      throw new MattermostError('ARGUMENTS_INVALID', text);
    }
    return isId(defaultTeam) ? defaultTeam : (await this.names.teamByName(defaultTeam)).id;
  }
}
