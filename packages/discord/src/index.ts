// The public names of `@pocket-agent/discord`.
export type { LogLevel } from '@pocket-agent/kit';
export { DiscordBotError, type DiscordBotErrorCode } from './base/errors.ts';
export { jsonLogger } from './base/logger.ts';
export { Bot, createBot } from './bot.ts';
export { readEnvironment } from './config/environment.ts';
export type { BotLimits, BotOptions, ModelChoice, ReplyOptions } from './config/options.ts';
export type { DiscordContext } from './conversation/live-runs.ts';
export { splitMessage } from './reply/split.ts';
export type { GuildSettings } from './store/guild-settings.ts';
export type { DailyBudget } from './store/spending.ts';
