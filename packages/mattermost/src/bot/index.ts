// The public names of `@pocket-agent/mattermost/bot`.
export { createMattermostBot } from './bot.ts';
export type { CallbackOptions } from './callbacks/callback-server.ts';
export type {
  BotRun,
  BotRunEvent,
  BotRunQuestion,
  BotRuns,
  DurableAnswersOptions,
} from './durable/bot-runs.ts';
export type { BotOptions, ConversationInfo, MadeAgent, MattermostBot } from './options.ts';
export type { Summarize } from './posts/thread-summary.ts';
