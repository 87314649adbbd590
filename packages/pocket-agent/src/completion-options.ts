// What goes to the model with every call, held against what every provider takes: a model would refuse all calls for it.
import { PocketError } from './errors.ts';

interface Rule {
  isMet(value: unknown): boolean;
  text: string;
}

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);
const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const areTexts = (values: readonly unknown[]) => values.every((value) => typeof value === 'string');

const number: Rule = { isMet: isNumber, text: 'a number' };
const efforts = ['provider-default', 'none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];
const choices = ['auto', 'none', 'required'];

const rules: Record<string, Rule> = {
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
  stopSequences: { isMet: (value) => Array.isArray(value) && areTexts(value), text: 'a list of texts' },
  reasoning: { isMet: (value) => efforts.some((effort) => effort === value), text: `one of ${efforts.join(', ')}` },
  toolChoice: {
    isMet: (value) => isObject(value) || choices.some((choice) => choice === value),
    text: `one of ${choices.join(', ')}, or { type: 'tool', toolName }`,
  },
  headers: {
    isMet: (value) =>
      isObject(value) && areTexts(Object.values(value).filter((header: unknown) => header !== undefined)),
    text: 'an object of texts',
  },
  responseFormat: { isMet: isObject, text: 'an object' },
  providerOptions: {
    isMet: (value) => isObject(value) && Object.values(value).every(isObject),
    text: 'an object with an object for each provider',
  },
};

export function checkCompletionOptions(options: object): void {
  for (const [name, value] of Object.entries(options)) {
    const rule = rules[name];
    if (value === undefined || !rule || rule.isMet(value)) continue;
    throw new PocketError(
      'CONFIG_INVALID',
      `completionOptions.${name} must be ${rule.text}, got ${JSON.stringify(value)}.`,
    );
  }
}
