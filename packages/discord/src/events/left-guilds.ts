// Guilds that threw the bot out while it was not there: nothing tells of them, so they are missed at the start.
import { type Client, ShardClientUtil } from 'discord.js';
import { forgetGuild, keptGuilds } from '../store/guild-data.ts';
import type { BotDatabase } from '../store/schema.ts';

/** Each process knows only the guilds of its own shards, and each bot only those it is in: others' are kept. */
export async function forgetLeftGuilds(db: BotDatabase, client: Client<true>): Promise<void> {
  const known = await db.selectFrom('discord_bots').select('id').execute();
  const { id: self } = client.user;
  if (!known.some(({ id }) => id === self)) {
    await db
      .insertInto('discord_bots')
      .values({ id: self })
      .onConflict((same) => same.column('id').doNothing())
      .execute();
  }
  if (known.length !== 1 || known[0]?.id !== self) return;
  const { shardCount = 1 } = client.options;
  for (const id of await keptGuilds(db)) {
    const isOurs = client.ws.shards.has(ShardClientUtil.shardIdForGuildId(id, shardCount));
    if (isOurs && !client.guilds.cache.has(id)) await forgetGuild(db, id);
  }
}
