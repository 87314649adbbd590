// Whether a budget in dollars can be kept with a model, found out without asking it anything.
import { isPocketError, type LanguageModel, PocketAgent, type Prices } from 'pocket-agent';

const none = { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 };

/** An agent that may only spend so much wants to know the price before it asks; one of the same name answers it here. */
export async function hasKnownPrice({ provider, modelId }: LanguageModel, prices: Prices): Promise<boolean> {
  const silent: LanguageModel = {
    specificationVersion: 'v4',
    provider,
    modelId,
    supportedUrls: {},
    doGenerate: async () => ({
      content: [{ type: 'text', text: 'ok' }],
      finishReason: { unified: 'stop', raw: 'stop' },
      usage: { inputTokens: none, outputTokens: { total: 0, text: 0, reasoning: 0 } },
      warnings: [],
    }),
    doStream: () => Promise.reject(new Error('It is never asked for a stream.')),
  };
  const agent = new PocketAgent({ agentConfig: { llmModel: silent }, prices, limits: { maxCostUsd: 1 } });
  try {
    await agent.run('What do you cost?');
    return true;
  } catch (error) {
    if (isPocketError(error, 'PRICE_UNKNOWN')) return false;
    throw error;
  } finally {
    await agent.close();
  }
}
