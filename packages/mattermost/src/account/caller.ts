// One Mattermost account that calls: its token, and what it has looked up. Tools get a context per call from it.

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
  /** The team that was named, else the default one. */
  team(given: string | undefined): Promise<string>;
  /** Tells the client how far a long call is. */
  progress(done: number, total: number): void;
}

interface CallerOptions {
  config: MattermostConfig;
  pool: HttpPool;
  token: string;
  log: Log;
  /** Aborted when the server closes. */
  signal: AbortSignal;
  /** Mattermost refused the token. */
  onRefused?: () => void;
}

export class Caller {
  readonly #options: CallerOptions;
  readonly names: Names;
  readonly policy: Policy;

  constructor(options: CallerOptions) {
    this.#options = options;
    // what is looked up here serves several calls, so it does not end with the first of them
    const api = new MattermostApi(options);
    this.names = new Names(api);
    this.policy = new Policy({ config: options.config, names: this.names, api });
  }

  context(signal: AbortSignal, progress: (done: number, total: number) => void): ToolContext {
    const { names, policy } = this;
    const { config } = this.#options;
    const api = new MattermostApi({ ...this.#options, signal });
    return { config, api, names, policy, progress, team: (given) => this.#team(given) };
  }

  async #team(given: string | undefined): Promise<string> {
    const { defaultTeam } = this.#options.config;
    if (given !== undefined) return given;
    if (defaultTeam === undefined) {
      const text = 'team_id is missing: take one from list_teams (or have MATTERMOST_DEFAULT_TEAM set on this server).';
      throw new MattermostError('ARGUMENTS_INVALID', text);
    }
    return isId(defaultTeam) ? defaultTeam : (await this.names.teamByName(defaultTeam)).id;
  }
}
