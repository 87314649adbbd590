// Logs each option that a provider package leaves out of requests, once per model.
import type { LanguageModelV4, SharedV4Warning } from '@ai-sdk/provider';
import type { Logger } from '@pocket-agent/kit';
import { modelName } from './model-names.ts';

const logged = new WeakMap<LanguageModelV4, Set<string>>();

export function logWarnings(model: LanguageModelV4, warnings: readonly SharedV4Warning[], logger: Logger): void {
  if (warnings.length === 0) return;
  const known = logged.get(model) ?? new Set();
  logged.set(model, known);
  for (const warning of warnings) {
    if (warning.type !== 'unsupported' || known.has(warning.feature)) continue;
    known.add(warning.feature);
    const details = warning.details ? `: ${warning.details}` : '';
    logger.warn(`Model ${modelName(model)} does not support ${warning.feature}, which is left out${details}`);
  }
}
