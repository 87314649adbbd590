// Posts a poll in the channel.
import type { ToolContext } from '@pocket-agent/tool-folder';
import type { DiscordContext } from '../../conversation/live-runs.ts';

interface Poll {
  question: string;
  choices: { text: string; emoji?: string }[];
  multi_select: boolean;
  poll_duration_hours: number;
}

export class Tools {
  async tool_create_polls(
    { question, choices, multi_select, poll_duration_hours }: Poll,
    { discord }: ToolContext<{ discord: DiscordContext }>,
  ) {
    const poll = {
      question: { text: question },
      answers: choices,
      duration: poll_duration_hours,
      allowMultiselect: multi_select,
    };
    const message = await discord.channel.send({ poll });
    return { posted: message.url };
  }
}
