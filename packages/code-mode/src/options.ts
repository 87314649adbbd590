// The options of code mode.
import { OptionSet, positiveInteger, positiveNumber } from '@pocket-agent/kit';

/** The limits of one script. A script that exceeds one ends with an error for the model. */
export interface CodeModeOptions {
  /** Memory of the script. Default 64 MB. */
  maxMemoryBytes?: number;
  /** CPU time; waiting does not count. Default 10,000. */
  maxCpuMs?: number;
  /** Elapsed time, without the time in which a person is asked about a call. Default ten minutes. */
  timeoutMs?: number;
  /** The limit for the returned value as JSON and the console together. Default 65,536. */
  maxOutputBytes?: number;
  /** Calls of tools. Default 1,000. */
  maxCalls?: number;
  /** The limit for the code. Default 65,536. */
  maxCodeBytes?: number;
  /**
   * Scripts that run at the same time, of all runs that share the tool; more are refused. Runs of one `caller` may use a
   * quarter. Default 32.
   */
  maxScripts?: number;
}

const rules = new OptionSet<CodeModeOptions>('Code mode', {
  maxMemoryBytes: positiveInteger,
  maxCpuMs: positiveNumber,
  timeoutMs: positiveNumber,
  maxOutputBytes: positiveInteger,
  maxCalls: positiveInteger,
  maxCodeBytes: positiveInteger,
  maxScripts: positiveInteger,
});

/** QuickJS needs this much before it runs anything; WebAssembly has 32-bit addresses. */
const MEMORY = { least: 2 ** 20, most: 2 ** 30 };

export function readOptions(options: CodeModeOptions = {}): Required<CodeModeOptions> {
  rules.check(options, 'codeMode()');
  const { maxMemoryBytes = 64 * 2 ** 20 } = options;
  return {
    maxMemoryBytes: Math.min(Math.max(maxMemoryBytes, MEMORY.least), MEMORY.most),
    maxCpuMs: options.maxCpuMs ?? 10_000,
    timeoutMs: options.timeoutMs ?? 600_000,
    maxOutputBytes: options.maxOutputBytes ?? 65_536,
    maxCalls: options.maxCalls ?? 1_000,
    maxCodeBytes: options.maxCodeBytes ?? 65_536,
    maxScripts: options.maxScripts ?? 32,
  };
}
