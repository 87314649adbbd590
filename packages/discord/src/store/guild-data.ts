// All that is kept of a guild, gone when the bot has to leave it.
import { guildOf, guildPrefix } from './conversation-key.ts';
import type { BotDatabase } from './schema.ts';

/** The guilds of which something is kept; ids of questions alone do not last. */
export async function keptGuilds(db: BotDatabase): Promise<Set<string>> {
  const conversations = db.selectFrom('discord_conversations').select('id');
  const talked = await conversations.where('id', 'like', `${guildPrefix('%')}%`).execute();
  const set = await db.selectFrom('discord_guilds').select('guild_id').execute();
  return new Set([...talked.flatMap(({ id }) => guildOf(id) ?? []), ...set.map(({ guild_id }) => guild_id)]);
}

export async function forgetGuild(db: BotDatabase, guildId: string): Promise<void> {
  // the sums of its members are named like its conversations
  const conversations = `${guildPrefix(guildId)}%`;
  await db.transaction().execute(async (transaction) => {
    await transaction.deleteFrom('discord_messages').where('conversation', 'like', conversations).execute();
    await transaction.deleteFrom('discord_conversations').where('id', 'like', conversations).execute();
    await transaction.deleteFrom('discord_claims').where('guild_id', '=', guildId).execute();
    await transaction.deleteFrom('discord_spending').where('who', 'like', conversations).execute();
    await transaction.deleteFrom('discord_guilds').where('guild_id', '=', guildId).execute();
  });
}
