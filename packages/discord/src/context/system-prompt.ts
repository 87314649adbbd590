// The system prompt: the name of the bot, the place of the conversation, and the rules.
import type { User } from 'discord.js';
import { UNTRUSTED_RULE, untrusted } from './untrusted.ts';

interface PromptContext {
  custom: string | undefined;
  bot: User;
  guildName: string | undefined;
  summary: string | null;
  /** MCP servers whose tools are missing until the user logs in. */
  missingLogins: readonly string[];
}

export function systemPrompt({ custom, bot, guildName, summary, missingLogins }: PromptContext): string {
  const place = guildName === undefined ? 'in direct messages' : `in the Discord server ${JSON.stringify(guildName)}`;
  return [
    custom ?? `You are ${bot.username}, a helpful assistant.`,
    `You talk to people ${place}. Each message starts with its author. Be concise and use Discord Markdown.`,
    UNTRUSTED_RULE,
    ...(missingLogins.length > 0
      ? [
          `The tools of these servers are missing until the user logs in with the command /login: ${missingLogins.join(', ')}.`,
        ]
      : []),
    ...(summary === null ? [] : [untrusted('summary of earlier messages', {}, summary)]),
  ].join('\n\n');
}
