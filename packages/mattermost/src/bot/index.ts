// The public names of `@pocket-agent/mattermost/bot`.
export { createMattermostBot } from './bot.ts';
export type { BotOptions, ConversationInfo, MadeAgent, MattermostBot } from './options.ts';
