// Returns the account of the user who asks.
import type { ToolContext } from '@pocket-agent/tool-folder';
import type { DiscordContext } from '../../conversation/live-runs.ts';

export class Tools {
  async tool_get_user_info(_args: object, { discord }: ToolContext<{ discord: DiscordContext }>) {
    const { username, displayName, id, createdAt } = discord.user;
    return { username, display_name: displayName, id, created_at: createdAt.toISOString() };
  }
}
