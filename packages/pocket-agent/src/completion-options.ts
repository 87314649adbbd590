// What goes to the model with every call, held against what every provider takes: a model would refuse all calls for it.
import type { CompletionOptions } from './agent-config.ts';
import { isObject, isText, type Names, type Rule } from './option-rules.ts';

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);

const number: Rule = { isMet: isNumber, text: 'a number' };
const efforts = ['provider-default', 'none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];
const choices = ['auto', 'none', 'required'];

export const completionOptions: Names<CompletionOptions> = {
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
  stopSequences: { isMet: (value) => Array.isArray(value) && value.every(isText), text: 'a list of texts' },
  reasoning: { isMet: (value) => efforts.some((effort) => effort === value), text: `one of ${efforts.join(', ')}` },
  toolChoice: {
    isMet: (value) => isObject(value) || choices.some((choice) => choice === value),
    text: `one of ${choices.join(', ')}, or { type: 'tool', toolName }`,
  },
  headers: {
    isMet: (value) => isObject(value) && Object.values(value).every((header) => header === undefined || isText(header)),
    text: 'an object of texts',
    isSecret: true,
  },
  responseFormat: { isMet: isObject, text: 'an object' },
  providerOptions: {
    isMet: (value) => isObject(value) && Object.values(value).every(isObject),
    text: 'an object with an object for each provider',
  },
};
