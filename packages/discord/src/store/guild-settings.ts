// The settings of a guild, made by its admins.
import type { ProfileName } from 'pocket-agent';
import type { ConversationScope } from './conversation-key.ts';
import type { BotDatabase } from './schema.ts';
import type { DailyBudget } from './spending.ts';

/** A remote MCP server that a guild added. */
export interface GuildServer {
  url: string;
  headers?: Record<string, string>;
  /** Each member logs in with OAuth. The scope that is asked for; empty for the default of the server. */
  login?: string;
}

/** What administrators of a guild have set with `/setup`. */
export interface GuildSettings {
  /** Channels in which the bot answers; all if empty. Threads count as their channel. */
  channels: string[];
  /** Roles that the bot answers; all members if empty. */
  roles: string[];
  /** Access profile by role; a member with several roles has the widest. */
  profiles: Record<string, ProfileName>;
  /** Profile of members whose roles have no profile. */
  profile: ProfileName;
  /** Models that members may choose; all if empty. */
  models: string[];
  mcpServers: Record<string, GuildServer>;
  budget: DailyBudget;
  scope: ConversationScope;
  /** Whether turns that no longer fit are summarized instead of deleted. */
  summaries: boolean;
}

const defaultSettings: GuildSettings = {
  channels: [],
  roles: [],
  profiles: {},
  profile: 'manager',
  models: [],
  mcpServers: {},
  budget: {},
  scope: 'channel',
  summaries: false,
};

export class SettingsStore {
  readonly #db: BotDatabase;

  constructor(db: BotDatabase) {
    this.#db = db;
  }

  /** Direct messages (null) use the defaults. */
  async get(guildId: string | null): Promise<GuildSettings> {
    if (guildId === null) return withDefaults(undefined);
    const query = this.#db.selectFrom('discord_guilds').select('settings').where('guild_id', '=', guildId);
    return withDefaults(await query.executeTakeFirst());
  }

  /** Reads, changes and writes in one transaction. */
  async change(guildId: string, change: (settings: GuildSettings) => void): Promise<GuildSettings> {
    return this.#db.transaction().execute(async (transaction) => {
      // writing the unchanged value locks the row; reading alone locks nothing
      const row = await transaction
        .insertInto('discord_guilds')
        .values({ guild_id: guildId, settings: '{}' })
        .onConflict((conflict) =>
          conflict.column('guild_id').doUpdateSet(({ ref }) => ({ settings: ref('discord_guilds.settings') })),
        )
        .returning('settings')
        .executeTakeFirstOrThrow();
      const settings = withDefaults(row);
      change(settings);
      await transaction
        .updateTable('discord_guilds')
        .set({ settings: JSON.stringify(settings) })
        .where('guild_id', '=', guildId)
        .execute();
      return settings;
    });
  }
}

function withDefaults(row: { settings: string } | undefined): GuildSettings {
  return { ...structuredClone(defaultSettings), ...(row && JSON.parse(row.settings)) };
}
