// Adds a reaction; an error of Discord is returned to the model.
import type { ToolContext } from '@pocket-agent/tool-folder';
import { PocketError } from 'pocket-agent';
import type { DiscordContext } from '../../conversation/live-runs.ts';

export class Tools {
  async tool_react_message({ emoji }: { emoji: string }, { discord }: ToolContext<{ discord: DiscordContext }>) {
    if (!discord.message)
      throw new PocketError('TOOL_FAILED', 'There is no message to react to, because the user used a command.');
    try {
      await discord.message.react(emoji);
    } catch (error) {
      const reason = error instanceof Error ? error.message : 'unknown';
      throw new PocketError('TOOL_FAILED', `Discord refused the reaction ${emoji}: ${reason}`);
    }
    return `Reacted with ${emoji}.`;
  }
}
