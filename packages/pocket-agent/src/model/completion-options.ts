// Options of a model call, checked before the first one: a provider would refuse every call with a wrong value.
import type { LanguageModelV4CallOptions, LanguageModelV4ToolChoice } from '@ai-sdk/provider';
import { isObject, isText, type Rule, type Rules } from '@pocket-agent/kit';

type ModelOptions = Omit<
  LanguageModelV4CallOptions,
  'prompt' | 'tools' | 'toolChoice' | 'abortSignal' | 'includeRawChunks'
>;

/** What goes to the model with every call, beside messages and tools. */
export interface CompletionOptions extends ModelOptions {
  /** Default `auto`. Left out when there are no tools. */
  toolChoice?: 'auto' | 'none' | 'required' | LanguageModelV4ToolChoice;
}

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);

const number: Rule = { isMet: isNumber, text: 'a number' };
const efforts = ['provider-default', 'none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];
const choices = ['auto', 'none', 'required'];

export const completionOptions: Rules<CompletionOptions> = {
  maxOutputTokens: {
    isMet: (value) => isNumber(value) && Number.isInteger(value) && value > 0,
    text: 'a whole number greater than 0',
  },
  temperature: number,
  topP: number,
  topK: number,
  presencePenalty: number,
  frequencyPenalty: number,
  seed: number,
  stopSequences: { isMet: (value) => Array.isArray(value) && value.every(isText), text: 'a list of strings' },
  reasoning: { isMet: (value) => efforts.some((effort) => effort === value), text: `one of ${efforts.join(', ')}` },
  toolChoice: {
    isMet: (value) => isObject(value) || choices.some((choice) => choice === value),
    text: `one of ${choices.join(', ')}, or { type: 'tool', toolName }`,
  },
  headers: {
    isMet: (value) => isObject(value) && Object.values(value).every((header) => header === undefined || isText(header)),
    text: 'an object of strings',
    isSecret: true,
  },
  responseFormat: { isMet: isObject, text: 'an object' },
  providerOptions: {
    isMet: (value) => isObject(value) && Object.values(value).every(isObject),
    text: 'an object with an object for each provider',
  },
};
