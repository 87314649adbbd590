// At the start, deletes data of guilds that removed the bot while it was offline.
import { type Client, ShardClientUtil } from 'discord.js';
import type { ScheduledPrompts } from '../schedules/scheduled-prompts.ts';
import { deleteGuildData, guildsWithData } from '../store/guild-data.ts';
import type { BotStore } from '../store/schema.ts';

/** Skipped if several bots share the database; each process checks only the guilds of its shards. */
export async function deleteLeftGuilds(store: BotStore, client: Client<true>): Promise<void> {
  const { db } = store;
  const bots = await db.selectFrom('discord_bots').select('id').execute();
  const { id: self } = client.user;
  if (!bots.some(({ id }) => id === self)) {
    await db
      .insertInto('discord_bots')
      .values({ id: self })
      .onConflict((same) => same.column('id').doNothing())
      .execute();
  }
  if (bots.length !== 1 || bots[0]?.id !== self) return;
  for (const id of await guildsWithData(db)) if (hasLeft(client, id)) await deleteGuildData(store, id);
}

/** Schedules have the id of their bot, so they need no check for other bots. */
export async function removeLeftSchedules(schedules: ScheduledPrompts, client: Client<true>): Promise<void> {
  for (const guildId of await schedules.guilds()) if (hasLeft(client, guildId)) await schedules.removeIn({ guildId });
}

function hasLeft(client: Client<true>, guildId: string): boolean {
  const { shardCount = 1 } = client.options;
  const isOurs = client.ws.shards.has(ShardClientUtil.shardIdForGuildId(guildId, shardCount));
  return isOurs && !client.guilds.cache.has(guildId);
}
