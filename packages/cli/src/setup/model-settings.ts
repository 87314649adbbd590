// The model settings of an agent file apply only to the provider of its model, so that no other provider gets the key.
import type { ModelSettings } from 'pocket-agent';
import { providerOf } from 'pocket-agent/internal';
import type { AgentRequest } from './agent-request.ts';

export function settingsFor({ config, model: requested }: AgentRequest, model: string): ModelSettings | undefined {
  const { llmModel = requested, modelSettings } = config;
  const provider = providerOf(model);
  const isSameProvider = typeof llmModel === 'string' && provider !== undefined && providerOf(llmModel) === provider;
  return isSameProvider ? modelSettings : undefined;
}
