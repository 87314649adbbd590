// Settings of the bot by channel, kept in preferences of its account.
import { parseObject } from '../../base/json.ts';
import type { MattermostApi } from '../../client/api.ts';
import { path } from '../../client/path.ts';

/** Which messages of a channel the bot answers. */
export type Answers = 'mentions' | 'all' | 'none';

export interface ChannelSetting {
  answers: Answers;
  /** Given to the agent with the first question of a conversation. */
  instructions: string;
}

const CATEGORY = 'pocket_agent_channel';
const DEFAULT: ChannelSetting = { answers: 'mentions', instructions: '' };
/** Mattermost keeps 2,000 characters, also of characters that JSON escapes. */
export const MAX_INSTRUCTIONS = 900;

export class ChannelSettings {
  readonly #api: MattermostApi;
  readonly #me: string;
  readonly #byChannel: Map<string, ChannelSetting>;

  private constructor(api: MattermostApi, me: string, byChannel: Map<string, ChannelSetting>) {
    this.#api = api;
    this.#me = me;
    this.#byChannel = byChannel;
  }

  static async read(api: MattermostApi, me: string): Promise<ChannelSettings> {
    const all = await api.list<{ category?: string; name?: string; value?: string }>(path`/users/${me}/preferences`);
    const own = all.filter(({ category }) => category === CATEGORY);
    return new ChannelSettings(api, me, new Map(own.map(({ name = '', value }) => [name, settingOf(value)])));
  }

  get(channelId: string): ChannelSetting {
    return this.#byChannel.get(channelId) ?? DEFAULT;
  }

  async change(channelId: string, change: Partial<ChannelSetting>): Promise<void> {
    const setting = { ...this.get(channelId), ...change };
    const preference = { user_id: this.#me, category: CATEGORY, name: channelId, value: JSON.stringify(setting) };
    await this.#api.put(path`/users/${this.#me}/preferences`, [preference]);
    this.#byChannel.set(channelId, setting);
  }
}

function settingOf(value: string | undefined): ChannelSetting {
  const { answers, instructions } = parseObject(value) ?? {};
  return {
    answers: answers === 'all' || answers === 'none' ? answers : DEFAULT.answers,
    instructions: typeof instructions === 'string' ? instructions : '',
  };
}
