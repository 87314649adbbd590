// The public names of `@pocket-agent/discord`.
export { Bot, createBot } from './bot.ts';
export type { DiscordContext } from './conversation/live-runs.ts';
export type { DailyBudget } from './conversation/spending.ts';
export { readEnvironment } from './environment.ts';
export { DiscordBotError, type DiscordBotErrorCode } from './errors.ts';
export { jsonLogger, type LogLevel } from './log.ts';
export type { BotLimits, BotOptions, ModelChoice } from './options.ts';
export type { ReplyOptions } from './reply/live-reply.ts';
export { splitMessage } from './reply/split.ts';
export type { GuildSettings } from './settings/settings.ts';
