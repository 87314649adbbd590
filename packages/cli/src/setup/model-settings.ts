// Keys and addresses of an agent file are those of its own provider: no other is sent them.
import type { ModelSettings } from 'pocket-agent';
import { providerOf } from 'pocket-agent/internal';
import type { AgentRequest } from './agent-options.ts';

/** A file that names no model has them for the one that was asked for. */
export function settingsFor({ config, model: asked }: AgentRequest, model: string): ModelSettings | undefined {
  const { llmModel = asked, modelSettings } = config;
  const provider = providerOf(model);
  const isTheirs = typeof llmModel === 'string' && provider !== undefined && providerOf(llmModel) === provider;
  return isTheirs ? modelSettings : undefined;
}
