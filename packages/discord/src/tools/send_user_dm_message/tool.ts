// Sends a direct message to the user who asks, split if it is long.
import type { ToolContext } from '@pocket-agent/tool-folder';
import type { DiscordContext } from '../../conversation/live-runs.ts';
import { inertLinks, previewFlags } from '../../reply/inert-links.ts';
import { splitMessage } from '../../reply/split.ts';

export class Tools {
  async tool_send_user_dm_message(
    { message }: { message: string },
    { discord }: ToolContext<{ discord: DiscordContext }>,
  ) {
    const pieces = splitMessage(inertLinks(message));
    for (const content of pieces) await discord.user.send({ content, ...previewFlags(content) });
    return `Sent to ${discord.user.username} in ${pieces.length} message(s).`;
  }
}
