// One question to a model, without tools and without a conversation.
import { PocketAgent } from 'pocket-agent';
import type { Spender } from './conversation/spending.ts';
import { DiscordBotError } from './errors.ts';
import type { ModelChoice } from './options.ts';
import type { BotParts } from './parts.ts';
import type { GuildSettings } from './settings/settings.ts';

const TIMEOUT_MS = 120_000;

export interface Once {
  model: ModelChoice;
  systemPrompt: string;
  text: string;
  spender: Spender;
  settings: GuildSettings;
}

export async function askOnce(parts: BotParts, once: Once): Promise<string> {
  const { model, systemPrompt, text, spender, settings } = once;
  const agent = new PocketAgent({
    agentConfig: { llmModel: model.model ?? model.name, ...settingsOf(model), systemPrompt },
    logger: parts.agentLogger,
    limits: { maxSteps: 1, timeoutMs: TIMEOUT_MS, ...(await costLimit(parts, spender, settings)) },
    ...(parts.options.prices ? { prices: parts.options.prices } : {}),
  });
  try {
    return await agent.run(text);
  } finally {
    if (agent.totals.usage.modelCalls > 0) await parts.spending.add(spender, agent.totals.usage);
    await agent.close();
  }
}

export function settingsOf({ modelSettings }: ModelChoice) {
  return modelSettings ? { modelSettings } : {};
}

/** What is left of today's budget, as a limit of the run. Throws when it is nothing. */
export async function costLimit(
  { spending, options }: BotParts,
  spender: Spender,
  { budget }: GuildSettings,
): Promise<{ maxCostUsd?: number }> {
  const least = (a?: number, b?: number) => (a === undefined ? b : b === undefined ? a : Math.min(a, b));
  const left = await spending.left(spender, {
    guildUsd: least(budget.guildUsd, options.budget?.guildUsd),
    userUsd: least(budget.userUsd, options.budget?.userUsd),
  });
  if (left === undefined) return {};
  if (left <= 0)
    throw new DiscordBotError('REFUSED', "Today's budget is used up. It starts anew at midnight UTC; see /cost.");
  return { maxCostUsd: left };
}
