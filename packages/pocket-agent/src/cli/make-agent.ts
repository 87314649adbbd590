// The agent of the command line, made from what the options and the agent file say.
import { PocketAgent } from '../agent/agent.ts';
import type { PocketAgentOptions } from '../agent/agent-config.ts';
import type { Message } from '../base/messages.ts';
import { isPocketError, PocketError } from '../kit/errors.ts';
import type { Logger } from '../kit/logger.ts';
import type { LanguageModel } from '../model/model.ts';
import type { ToolSource } from '../tools/tools.ts';
import type { AgentRequest } from './agent-options.ts';
import type { Approver } from './approver.ts';
import { settingsFor } from './model-settings.ts';

export interface AgentParts {
  model: string | LanguageModel;
  /** Closed with the agent. */
  folders: readonly ToolSource[];
  allowImages?: boolean;
  messages?: readonly Message[];
  approver?: Pick<Approver, 'approve' | 'elicit'>;
  logger: Logger;
}

const systemPrompt =
  'You are a helpful assistant in a terminal. Use the tools you have whenever they give a more certain answer than you could. Answer briefly.';

export function makeAgent(request: AgentRequest, parts: AgentParts): PocketAgent {
  const { config, servers, access, limits } = request;
  const { model, folders, messages, approver, logger } = parts;
  const { modelSettings: _ofTheFile, allowImages: mayHaveImages, ...rest } = config;
  const allowImages = parts.allowImages ?? mayHaveImages;
  const modelSettings = typeof model === 'string' ? settingsFor(request, model) : undefined;
  const options: PocketAgentOptions = {
    agentConfig: {
      name: 'Pocket',
      systemPrompt,
      ...rest,
      llmModel: model,
      ...(modelSettings ? { modelSettings } : {}),
      ...(allowImages === undefined ? {} : { allowImages }),
      ...(messages && messages.length > 0 ? { messages } : {}),
    },
    ...(servers.size > 0 ? { mcpConfig: { mcpServers: Object.fromEntries(servers) } } : {}),
    tools: folders,
    access,
    limits,
    ...(approver?.approve ? { approve: approver.approve } : {}),
    ...(approver?.elicit ? { elicitationHandler: approver.elicit } : {}),
    logger,
    logHandler: () => {}, // shown as events
  };
  try {
    return new PocketAgent(options);
  } catch (error) {
    // options were checked as they were read, so it is the file that is wrong
    if (request.file === undefined || !isPocketError(error, 'CONFIG_INVALID')) throw error;
    throw new PocketError('CONFIG_INVALID', `${request.file}: ${error.message}`, { cause: error });
  }
}
