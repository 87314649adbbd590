// Makes the agent that the options and the agent file describe.
import { isPocketError, type Logger, PocketError } from '@pocket-agent/kit';
import { type LanguageModel, PocketAgent, type ToolSource, type TypedAgentOptions } from 'pocket-agent';
import { type Approver, askedBy } from '../questions/approver.ts';
import type { AgentRequest } from './agent-request.ts';
import { settingsFor } from './model-settings.ts';

export interface AgentParts {
  model: string | LanguageModel;
  /** Tool folders and skills; closed with the agent. */
  sources: readonly ToolSource[];
  allowImages?: boolean;
  approver?: Pick<Approver, 'approve' | 'elicit' | 'answersServers'>;
  logger: Logger;
}

const systemPrompt =
  'You are a helpful assistant in a terminal. Use a tool whenever it gives a more reliable answer than your own knowledge. Answer briefly.';

/** Its answers are text, or values if the request has an output. */
export function makeAgent(request: AgentRequest, parts: AgentParts): PocketAgent<unknown> {
  const { config, exposure, access, limits, traceContent } = request;
  const { model, sources, approver, logger } = parts;
  const { modelSettings: _fromFile, allowImages: allowedByFile, ...rest } = config;
  const allowImages = parts.allowImages ?? allowedByFile;
  const servers = parts.approver ? askedBy(request.servers, parts.approver) : request.servers;
  const modelSettings = typeof model === 'string' ? settingsFor(request, model) : undefined;
  const options: TypedAgentOptions<unknown> = {
    agentConfig: {
      name: 'Pocket',
      compaction: true,
      ...rest,
      systemPrompt: promptWith(rest.systemPrompt ?? systemPrompt, request.instructions),
      llmModel: model,
      modelSettings,
      allowImages,
    },
    ...(servers.size > 0 ? { mcpConfig: { mcpServers: Object.fromEntries(servers) } } : {}),
    tools: sources,
    ...(exposure === undefined ? {} : { exposure }),
    traceContent,
    access,
    limits,
    approve: approver?.approve,
    elicitationHandler: approver?.elicit,
    logger,
    logHandler: () => {}, // shown as events
  };
  try {
    return new PocketAgent<unknown>(options);
  } catch (error) {
    // the options were checked before, so the error is in the file
    if (request.file === undefined || !isPocketError(error, 'CONFIG_INVALID')) throw error;
    throw new PocketError('CONFIG_INVALID', `${request.file}: ${error.message}`, { cause: error });
  }
}

function promptWith(prompt: string, instructions: string | undefined): string {
  if (instructions === undefined) return prompt;
  return `${prompt}\n\nAGENTS.md of the working folder says:\n\n${instructions.trim()}`;
}
