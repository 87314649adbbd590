// What users can turn on and off with /agent: tool folders, MCP servers, and the memory of the bot.
import type { GuildSettings } from '../store/guild-settings.ts';
import type { ToolChoice } from '../toolbox/catalogue.ts';
import type { BotParts } from './parts.ts';

/** Never the name of a folder, because of the colon. */
export const MEMORY_ID = 'memory:';

export function toolChoices({ catalogue, servers, options }: BotParts, { mcpServers }: GuildSettings): ToolChoice[] {
  const memory = options.memory ? [{ id: MEMORY_ID, label: 'Memory' }] : [];
  return [...catalogue.choices, ...servers.choices(mcpServers), ...memory];
}
