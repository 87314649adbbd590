// Finds and deletes the stored data of guilds.
import { guildOf, guildPrefix } from './conversation-key.ts';
import { eraseMemoriesOfGuild } from './memory.ts';
import { type BotDatabase, type BotStore, botConversations } from './schema.ts';

/** Guilds with conversations or settings. Claims do not count, because they expire. */
export async function guildsWithData(db: BotDatabase): Promise<Set<string>> {
  const conversations = db.selectFrom('discord_conversations').select('id');
  const withConversations = await conversations.where('id', 'like', `${guildPrefix('%')}%`).execute();
  const withSettings = await db.selectFrom('discord_guilds').select('guild_id').execute();
  return new Set([
    ...withConversations.flatMap(({ id }) => guildOf(id) ?? []),
    ...withSettings.map(({ guild_id }) => guild_id),
  ]);
}

export async function deleteGuildData({ db, kind }: BotStore, guildId: string): Promise<void> {
  // the spending of members has keys with the same prefix
  const conversations = `${guildPrefix(guildId)}%`;
  await db.transaction().execute(async (transaction) => {
    const deleted = transaction.deleteFrom('discord_conversations').where('id', 'like', conversations).returning('id');
    const chats = botConversations({ db: transaction, kind });
    for (const { id } of await deleted.execute()) await chats.delete(id);
    await eraseMemoriesOfGuild(chats, guildId);
    await transaction.deleteFrom('discord_claims').where('guild_id', '=', guildId).execute();
    await transaction.deleteFrom('discord_spending').where('who', 'like', conversations).execute();
    await transaction.deleteFrom('discord_guilds').where('guild_id', '=', guildId).execute();
  });
}
