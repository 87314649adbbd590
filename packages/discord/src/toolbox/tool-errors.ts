// Errors of tools: models, and so the channel, may read only texts meant for them; the rest goes to the log.

import { errorText } from '@pocket-agent/kit';
import { DiscordAPIError } from 'discord.js';
import { isPocketError, type Logger, PocketError } from 'pocket-agent';
import { errorKind } from '../base/errors.ts';

interface FailedCall {
  tool: string;
  claim: unknown;
  logger: Logger;
}

export function toolError(error: unknown, { tool, claim, logger }: FailedCall): unknown {
  if (isMeantForModels(error)) return error;
  logger.warn('Tool failed', { tool, claim, ...errorKind(error) });
  logger.debug('Tool error', { tool, claim, reason: errorText(error) });
  return new PocketError('TOOL_FAILED', `${tool} failed; the log of the bot has details under ${claim}.`, {
    cause: error,
  });
}

const INVALID_PARAMS = -32_602;

/** Our errors about the call, invalid-argument errors of MCP servers, and errors of Discord. */
function isMeantForModels(error: unknown): boolean {
  if (isPocketError(error)) return /^(TOOL_|ABORTED$|AGENT_CLOSED$)/.test(error.code);
  if (error instanceof DiscordAPIError) return true;
  return error instanceof Error && 'code' in error && error.code === INVALID_PARAMS;
}
