// The system prompt: the name of the bot, the place of the conversation, and the rules.
import type { User } from 'discord.js';
import { UNTRUSTED_RULE, untrusted } from './untrusted.ts';

interface PromptContext {
  custom: string | undefined;
  bot: User;
  guildName: string | undefined;
  summary: string | null;
}

export function systemPrompt({ custom, bot, guildName, summary }: PromptContext): string {
  const place = guildName === undefined ? 'in direct messages' : `in the Discord server ${JSON.stringify(guildName)}`;
  return [
    custom ?? `You are ${bot.username}, a helpful assistant.`,
    `You talk to people ${place}. Each message starts with its author. Be concise and use Discord Markdown.`,
    UNTRUSTED_RULE,
    ...(summary === null ? [] : [untrusted('summary of earlier messages', {}, summary)]),
  ].join('\n\n');
}
