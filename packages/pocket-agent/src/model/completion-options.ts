// The options of model calls: checked before a call, and reported after it if the model does not support them.
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4ToolChoice,
  SharedV4Warning,
} from '@ai-sdk/provider';
import {
  isRecord,
  isString,
  type Logger,
  type OptionRule,
  type OptionRules,
  objectRule,
  oneOf,
  warnOnce,
} from '@pocket-agent/kit';
import { modelName } from '../providers/model-names.ts';

type ModelOptions = Omit<
  LanguageModelV4CallOptions,
  'prompt' | 'tools' | 'toolChoice' | 'abortSignal' | 'includeRawChunks'
>;

/** Options that go to the model with every call. */
export interface CompletionOptions extends ModelOptions {
  /** Default `auto`. Not sent when there are no tools. */
  toolChoice?: 'auto' | 'none' | 'required' | LanguageModelV4ToolChoice;
}

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);

const number: OptionRule = { accepts: isNumber, expected: 'a number' };
const toolChoice = oneOf('auto', 'none', 'required');

export const completionOptions: OptionRules<CompletionOptions> = {
  maxOutputTokens: {
    accepts: (value) => isNumber(value) && Number.isInteger(value) && value > 0,
    expected: 'a whole number greater than 0',
  },
  temperature: number,
  topP: number,
  topK: number,
  presencePenalty: number,
  frequencyPenalty: number,
  seed: number,
  stopSequences: { accepts: (value) => Array.isArray(value) && value.every(isString), expected: 'a list of strings' },
  reasoning: oneOf('provider-default', 'none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'),
  toolChoice: {
    accepts: (value) => isRecord(value) || toolChoice.accepts(value),
    expected: `${toolChoice.expected}, or { type: 'tool', toolName }`,
  },
  headers: {
    accepts: (value) =>
      isRecord(value) && Object.values(value).every((header) => header === undefined || isString(header)),
    expected: 'an object of strings',
    isSecret: true,
  },
  responseFormat: objectRule,
  providerOptions: {
    accepts: (value) => isRecord(value) && Object.values(value).every(isRecord),
    expected: 'an object with an object for each provider',
  },
};

/** Logs each option that a provider package leaves out of requests, once per model. */
export function logWarnings(model: LanguageModelV4, warnings: readonly SharedV4Warning[], logger: Logger): void {
  for (const warning of warnings) {
    if (warning.type !== 'unsupported') continue;
    const { feature } = warning;
    const details = warning.details ? `: ${warning.details}` : '';
    const text = `Model ${modelName(model)} does not support ${feature}, which is left out${details}`;
    warnOnce({ logger, about: model, key: feature, text });
  }
}
