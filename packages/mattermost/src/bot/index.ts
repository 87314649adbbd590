// The public names of `@pocket-agent/mattermost/bot`.
export {
  type BotOptions,
  type ConversationInfo,
  createMattermostBot,
  type MadeAgent,
  type MattermostBot,
} from './bot.ts';
