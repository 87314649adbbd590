// What a tool throws: a model, and so everybody in the channel, reads what was meant for them; the rest is for the log.
import { DiscordAPIError } from 'discord.js';
import { isPocketError, type Logger, PocketError } from 'pocket-agent';
import { kindOf, messageOf } from '../base/errors.ts';

interface FailedCall {
  tool: string;
  claim: unknown;
  logger: Logger;
}

export function failedTool(error: unknown, { tool, claim, logger }: FailedCall): unknown {
  if (isMeantForModels(error)) return error;
  logger.warn('A tool failed', { tool, claim, ...kindOf(error) });
  logger.debug('What a tool threw', { tool, claim, reason: messageOf(error) });
  return new PocketError('TOOL_FAILED', `${tool} failed; whoever runs this bot finds it in the log as ${claim}.`, {
    cause: error,
  });
}

const INVALID_PARAMS = -32_602;

/** Errors of ours about the call, what an MCP server finds wrong with arguments, and refusals of Discord. */
function isMeantForModels(error: unknown): boolean {
  if (isPocketError(error)) return /^(TOOL_|ABORTED$|AGENT_CLOSED$)/.test(error.code);
  if (error instanceof DiscordAPIError) return true;
  return error instanceof Error && 'code' in error && error.code === INVALID_PARAMS;
}
