// The option `keepResults` of an agent: where results that are too large for the prompt are kept whole.
import { isRecord, type OptionRule, OptionSet, positiveNumber, stringRule } from '@pocket-agent/kit';

/** Where tool results that are too large for a prompt are kept until the model reads them with `read_result`. */
export interface KeepResultsOptions {
  /** A folder for private files, so that results outlive the process. Default: in memory. */
  folder?: string;
  /** Default: one day. */
  expiresAfterMs?: number;
  /** The limit for all results in the folder, or of this agent in memory; the oldest make room. Default: 256 MiB, in memory 64 MiB. */
  maxTotalBytes?: number;
}

const keepResultsOptions = new OptionSet<KeepResultsOptions>('keepResults', {
  folder: stringRule,
  expiresAfterMs: positiveNumber,
  maxTotalBytes: positiveNumber,
});

export const keepResultsRule: OptionRule = {
  expected: 'true, false or { folder, expiresAfterMs, maxTotalBytes }',
  accepts: (value) => value === null || typeof value === 'boolean' || isRecord(value),
};

/** Undefined if results are not kept. */
export function readKeepResults(given: KeepResultsOptions | boolean | null = true): KeepResultsOptions | undefined {
  if (!given) return undefined;
  const options = given === true ? {} : given;
  keepResultsOptions.check(options);
  return options;
}
