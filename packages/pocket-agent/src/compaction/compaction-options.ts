// The option `compaction` of an agent: when prompts are shortened, and how much of them stays word for word.
import { configError, isRecord, type OptionRule, OptionSet } from '@pocket-agent/kit';
import { checkModelName, checkModelObject, type LanguageModel } from '../providers/model-names.ts';

/** When a long prompt is shortened to a summary, and how much of it stays as it is. */
export interface CompactionOptions {
  /**
   * A prompt that is estimated to be longer is compacted. Up to 1: a part of the context window of the model; more than 1:
   * tokens. Default 0.8.
   */
  at?: number;
  /** How much of the newest messages stays word for word, in the same units. Default 0.3. */
  keep?: number;
  /** Writes the summaries. Default: the model of the agent. */
  model?: string | LanguageModel;
}

export type CompactionSettings = Required<Pick<CompactionOptions, 'at' | 'keep'>> & Pick<CompactionOptions, 'model'>;

/** The settings of agents without the option. */
export const defaultCompaction: CompactionSettings = { at: 0.8, keep: 0.3 };

const amount: OptionRule = {
  expected: 'a number greater than 0: up to 1 a part of the context window, more than 1 tokens',
  accepts: (value) => typeof value === 'number' && value > 0 && Number.isFinite(value),
};

const compactionOptions = new OptionSet<CompactionOptions>('compaction', {
  at: amount,
  keep: amount,
  model: {
    expected: 'the name of a model or a model object of AI SDK 7',
    accepts: (value) => typeof value === 'string' || isRecord(value),
  },
});

export const compactionRule: OptionRule = {
  expected: 'true, false or { at, keep, model }',
  accepts: (value) => value === null || typeof value === 'boolean' || isRecord(value),
};

/** Undefined if the option is off. `isRouted`: the router checks the name of the model. */
export function readCompaction(
  given: CompactionOptions | boolean | null | undefined,
  isRouted: boolean,
): CompactionSettings | undefined {
  if (!given) return undefined;
  const options = given === true ? {} : given;
  compactionOptions.check(options);
  const { at = defaultCompaction.at, model } = options;
  const { keep = at > 1 ? at / 2 : Math.min(defaultCompaction.keep, at / 2) } = options;
  if (keep > 1 === at > 1 && keep >= at) {
    const text = `compaction.keep (${keep}) must be less than compaction.at (${at}): what is kept must fit into the prompt.`;
    throw configError(text);
  }
  if (typeof model === 'string' && !isRouted) checkModelName(model);
  if (isRecord(model)) checkModelObject(model, 'compaction.model');
  return { at, keep, ...(model === undefined ? {} : { model }) };
}
