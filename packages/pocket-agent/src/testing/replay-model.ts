// replayModel: answers from a recording of recordModel, without a network.
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamResult,
} from '@ai-sdk/provider';
import { checkValue, configError, nonEmptyRule, PocketError } from '@pocket-agent/kit';
import { streamOf } from '../base/stream-parts.ts';
import { type Difference, differencesText, findDifferences } from './difference.ts';
import { recordable, recordableRequest } from './recordable.ts';
import { type RecordedAnswer, replayedError } from './recorded-answer.ts';
import { type RecordedCall, readRecording } from './recording.ts';

interface Candidate {
  call: RecordedCall;
  differences: Difference[];
}

/** Answers from the file that `recordModel` wrote. A request that was not recorded fails, and the error shows the difference. */
export function replayModel(file: string): ReplayedModel {
  checkValue('The file of replayModel', file, nonEmptyRule);
  return new ReplayedModel(file);
}

/**
 * A recorded model. Each recorded call is used once; calls that run at the same time may come in any order.
 * `assertDone()` (also `using`) fails if recorded calls are left over.
 */
export class ReplayedModel implements LanguageModelV4 {
  readonly specificationVersion = 'v4';
  readonly provider: string;
  readonly modelId: string;
  readonly supportedUrls: Record<string, RegExp[]>;
  readonly #file: string;
  readonly #calls: readonly RecordedCall[];
  readonly #unused: Set<RecordedCall>;

  constructor(file: string) {
    const { provider, modelId, supportedUrls, calls } = readRecording(file);
    this.provider = provider;
    this.modelId = modelId;
    this.supportedUrls = Object.fromEntries(
      Object.entries(supportedUrls).map(([type, patterns]) => [type, patterns.map(patternOf)]),
    );
    this.#file = file;
    this.#calls = calls;
    this.#unused = new Set(calls);
  }

  async doGenerate(options: LanguageModelV4CallOptions): Promise<LanguageModelV4GenerateResult> {
    return this.#answer(options);
  }

  async doStream(options: LanguageModelV4CallOptions): Promise<LanguageModelV4StreamResult> {
    return { stream: streamOf(this.#answer(options)) };
  }

  /** Throws if recorded calls are left over. */
  assertDone(): void {
    const left = this.#unused.size;
    if (left > 0)
      throw new Error(`replayModel: ${left} of ${this.#calls.length} calls in ${this.#file} were not used.`);
  }

  [Symbol.dispose](): void {
    this.assertDone();
  }

  #answer(options: LanguageModelV4CallOptions): RecordedAnswer {
    options.abortSignal?.throwIfAborted();
    const { answer, error } = this.#take(options);
    if (error) throw replayedError(error);
    if (!answer) throw configError(`${this.#file}: a call has neither an answer nor an error.`);
    return structuredClone(answer);
  }

  #take(options: LanguageModelV4CallOptions): RecordedCall {
    const actual = recordableRequest(options, []);
    let closest: Candidate | undefined;
    for (const call of this.#unused) {
      const differences = findDifferences(recordable(call.request, []), actual);
      if (differences.length === 0) {
        this.#unused.delete(call);
        return call;
      }
      if (!closest || differences.length < closest.differences.length) closest = { call, differences };
    }
    throw this.#mismatch(closest);
  }

  #mismatch(closest: Candidate | undefined): PocketError {
    const total = this.#calls.length;
    const advice = 'If this is intended, run once with recordModel to record it again.';
    if (!closest) {
      const text = `The recording ${this.#file} has ${total} model calls, and the agent made another one. ${advice}`;
      return new PocketError('MODEL_FAILED', text, { details: { recording: this.#file } });
    }
    const { call, differences } = closest;
    const which = `call ${this.#calls.indexOf(call) + 1} of ${total}`;
    return new PocketError(
      'MODEL_FAILED',
      `The request differs from ${which} in the recording ${this.#file}:\n${differencesText(differences)}\n${advice}`,
      { details: { recording: this.#file, differences } },
    );
  }
}

/** The pattern that `String(pattern)` wrote. */
function patternOf(text: string): RegExp {
  const end = text.lastIndexOf('/');
  return new RegExp(text.slice(1, end), text.slice(end + 1));
}
