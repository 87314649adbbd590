// Which events this process receives when a bot has several shards.
import type { Client } from 'discord.js';

/** Whether the shards of this client get the messages of a guild; the first shard gets direct messages (null). */
export function receivesMessagesOf(client: Client, guildId: string | null): boolean {
  return guildId === null ? client.ws.shards.has(0) : client.guilds.cache.has(guildId);
}
