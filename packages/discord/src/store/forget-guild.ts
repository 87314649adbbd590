// All that is kept of a guild, gone when the bot has to leave it.
import { guildPrefix } from '../conversation/key.ts';
import type { BotDatabase } from './schema.ts';

export async function forgetGuild(db: BotDatabase, guildId: string): Promise<void> {
  const conversations = `${guildPrefix(guildId)}%`;
  await db.transaction().execute(async (transaction) => {
    await transaction.deleteFrom('discord_messages').where('conversation', 'like', conversations).execute();
    await transaction.deleteFrom('discord_conversations').where('id', 'like', conversations).execute();
    await transaction.deleteFrom('discord_claims').where('guild_id', '=', guildId).execute();
    await transaction.deleteFrom('discord_guilds').where('guild_id', '=', guildId).execute();
  });
}
