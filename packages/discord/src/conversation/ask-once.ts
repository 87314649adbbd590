// One question to a model, without tools and without a conversation.
import { PocketAgent } from 'pocket-agent';
import type { ModelChoice } from '../config/options.ts';
import type { GuildSettings } from '../store/guild-settings.ts';
import type { Spender } from '../store/spending.ts';
import type { BotParts } from './parts.ts';
import { Purse } from './run-budget.ts';

const TIMEOUT_MS = 120_000;

interface Once {
  model: ModelChoice;
  systemPrompt: string;
  text: string;
  images?: readonly Uint8Array[];
  spender: Spender;
  settings: GuildSettings;
  /** Ends it early; what it has cost until then is counted. */
  signal: AbortSignal;
}

export async function askOnce(parts: BotParts, once: Once): Promise<string> {
  const { model, systemPrompt, text, images = [], spender, settings, signal } = once;
  const purse = new Purse(parts, { spender, settings });
  const agent = new PocketAgent({
    agentConfig: {
      llmModel: model.model ?? model.name,
      ...settingsOf(model),
      systemPrompt,
      allowImages: images.length > 0,
    },
    logger: parts.agentLogger,
    limits: { maxSteps: 1, timeoutMs: TIMEOUT_MS, ...(await purse.limit()) },
    ...(parts.options.prices ? { prices: parts.options.prices } : {}),
  });
  try {
    return await agent.run({ text, images }, { signal });
  } finally {
    await purse.settleAndClose(agent);
  }
}

export function settingsOf({ modelSettings, completionOptions }: ModelChoice) {
  return { ...(modelSettings ? { modelSettings } : {}), ...(completionOptions ? { completionOptions } : {}) };
}
