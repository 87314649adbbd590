// What the model is told of where it is.
import type { User } from 'discord.js';
import { UNTRUSTED_RULE, untrusted } from './untrusted.ts';

interface Surroundings {
  own: string | undefined;
  bot: User;
  guildName: string | undefined;
  summary: string | null;
}

export function systemPrompt({ own, bot, guildName, summary }: Surroundings): string {
  const place = guildName === undefined ? 'in direct messages' : `in the Discord server ${JSON.stringify(guildName)}`;
  return [
    own ?? `You are ${bot.username}, a helpful assistant.`,
    `You talk to people ${place}. Each message begins with who wrote it. Write Discord's Markdown, to the point.`,
    UNTRUSTED_RULE,
    ...(summary === null ? [] : [untrusted('summary of the conversation before', {}, summary)]),
  ].join('\n\n');
}
