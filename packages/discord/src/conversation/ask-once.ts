// Asks a model one question, without tools and without a conversation.
import { PocketAgent } from 'pocket-agent';
import type { ModelChoice } from '../config/options.ts';
import type { GuildSettings } from '../store/guild-settings.ts';
import type { Spender } from '../store/spending.ts';
import type { BotParts } from './parts.ts';
import { RunBudget } from './run-budget.ts';

const TIMEOUT_MS = 120_000;

interface SingleQuestion {
  model: ModelChoice;
  systemPrompt: string;
  text: string;
  images?: readonly Uint8Array[];
  spender: Spender;
  settings: GuildSettings;
  /** Ends the call early; its cost so far is counted. */
  signal: AbortSignal;
}

export async function askOnce(parts: BotParts, question: SingleQuestion): Promise<string> {
  const { model, systemPrompt, text, images = [], spender, settings, signal } = question;
  const runBudget = new RunBudget(parts, { spender, settings });
  const agent = new PocketAgent({
    agentConfig: {
      llmModel: model.model ?? model.name,
      ...modelOptions(model),
      systemPrompt,
      allowImages: images.length > 0,
    },
    logger: parts.agentLogger,
    limits: { maxSteps: 1, timeoutMs: TIMEOUT_MS, ...(await runBudget.limit()) },
    prices: parts.options.prices,
  });
  try {
    return await agent.run({ text, images }, { signal });
  } finally {
    await runBudget.recordAndClose(agent);
  }
}

export function modelOptions({ modelSettings, completionOptions }: ModelChoice) {
  return { modelSettings, completionOptions };
}
