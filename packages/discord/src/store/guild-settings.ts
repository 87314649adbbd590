// What the admins of a guild have decided.
import type { ProfileName } from 'pocket-agent';
import type { ConversationScope } from './conversation-key.ts';
import type { BotDatabase } from './schema.ts';
import type { DailyBudget } from './spending.ts';

/** A remote MCP server that a guild brings along. */
export interface GuildServer {
  url: string;
  headers?: Record<string, string>;
}

export interface GuildSettings {
  /** Where the bot answers; everywhere when empty. A thread belongs to its channel. */
  channels: string[];
  /** Whom it answers; everybody when empty. */
  roles: string[];
  /** By role; somebody with several roles has the widest. */
  profiles: Record<string, ProfileName>;
  /** Of those who have no such role. */
  profile: ProfileName;
  /** Of the bot's models, those that may be chosen; all when empty. */
  models: string[];
  mcpServers: Record<string, GuildServer>;
  budget: DailyBudget;
  scope: ConversationScope;
  /** Whether turns that no longer fit are summarized instead of forgotten. */
  summaries: boolean;
}

const usualSettings: GuildSettings = {
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

export class Settings {
  readonly #db: BotDatabase;

  constructor(db: BotDatabase) {
    this.#db = db;
  }

  /** Direct messages have the usual ones. */
  async of(guildId: string | null): Promise<GuildSettings> {
    if (guildId === null) return completed(undefined);
    const query = this.#db.selectFrom('discord_guilds').select('settings').where('guild_id', '=', guildId);
    return completed(await query.executeTakeFirst());
  }

  /** Reads, changes and writes with nobody in between. */
  async change(guildId: string, change: (settings: GuildSettings) => void): Promise<GuildSettings> {
    return this.#db.transaction().execute(async (transaction) => {
      // written as it is, so that whoever else wants to change it waits for this row; reading alone locks nothing
      const row = await transaction
        .insertInto('discord_guilds')
        .values({ guild_id: guildId, settings: '{}' })
        .onConflict((conflict) =>
          conflict.column('guild_id').doUpdateSet(({ ref }) => ({ settings: ref('discord_guilds.settings') })),
        )
        .returning('settings')
        .executeTakeFirstOrThrow();
      const settings = completed(row);
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

function completed(row: { settings: string } | undefined): GuildSettings {
  return { ...structuredClone(usualSettings), ...(row && JSON.parse(row.settings)) };
}
