// A reaction. What Discord refuses is told, not hidden.

import type { ToolContext } from '@pocket-agent/tool-folder';
import { PocketError } from 'pocket-agent';
import type { DiscordContext } from '../../conversation/live-runs.ts';

export class Tools {
  async tool_react_message({ emoji }: { emoji: string }, { discord }: ToolContext<{ discord: DiscordContext }>) {
    if (!discord.message)
      throw new PocketError('TOOL_FAILED', 'There is no message to react to: the person used a command.');
    try {
      await discord.message.react(emoji);
    } catch (error) {
      const reason = error instanceof Error ? error.message : 'unknown';
      throw new PocketError('TOOL_FAILED', `Discord did not take the reaction ${emoji}: ${reason}`);
    }
    return `Reacted with ${emoji}.`;
  }
}
