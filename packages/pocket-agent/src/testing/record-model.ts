// recordModel: passes calls on to a model and writes requests and answers to a file.
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
} from '@ai-sdk/provider';
import {
  checkValue,
  configError,
  errorText,
  fileSystem,
  makeFolder,
  nonEmptyRule,
  OptionSet,
  stringList,
} from '@pocket-agent/kit';
import { StreamCollector } from '../model/model-stream.ts';
import { checkModelObject, type LanguageModel } from '../providers/model-names.ts';
import { omitFields, omittedFields } from '../providers/provider-models.ts';
import { findDifferences } from './difference.ts';
import { type RecordedRequest, recordableRequest } from './recordable.ts';
import { recordedAnswer, recordedError } from './recorded-answer.ts';
import { type RecordedCall, type Recording, recordingText } from './recording.ts';

/** Options of `recordModel`: values that must never reach the file. */
export interface RecordOptions {
  /** Values that are replaced by [redacted], besides those of environment variables and strings that look like keys. */
  secrets?: readonly string[];
}

const recordOptions = new OptionSet<RecordOptions>('recordModel', { secrets: stringList });

/** By the path of the file: the model that records in it. */
const recorders = new Map<string, RecordingModel>();

/**
 * A model that records its calls in `file`, for `replayModel`. The file is replaced at the first call and written again
 * after each. Headers and keys are not recorded.
 */
export function recordModel(model: LanguageModel, file: string, options: RecordOptions = {}): LanguageModel {
  recordOptions.check(options);
  checkModelObject(model, 'The model of recordModel');
  checkValue('The file of recordModel', file, nonEmptyRule);
  const recorder = new RecordingModel(model, file, (options.secrets ?? []).filter(Boolean));
  const omitted = omittedFields(model);
  if (omitted) omitFields(recorder, omitted);
  return recorder;
}

class RecordingModel implements LanguageModelV4 {
  readonly specificationVersion = 'v4';
  readonly provider: string;
  readonly modelId: string;
  readonly supportedUrls: LanguageModelV4['supportedUrls'];
  readonly #model: LanguageModelV4;
  readonly #file: string;
  readonly #secrets: readonly string[];
  readonly #calls: RecordedCall[] = [];
  #hasStarted = false;
  #written: Promise<void> = Promise.resolve();

  constructor(model: LanguageModelV4, file: string, secrets: readonly string[]) {
    this.#model = model;
    this.#file = file;
    this.#secrets = secrets;
    this.provider = model.provider;
    this.modelId = model.modelId;
    this.supportedUrls = model.supportedUrls;
  }

  async doGenerate(options: LanguageModelV4CallOptions): Promise<LanguageModelV4GenerateResult> {
    const request = this.#request(options);
    const answer = await this.#recordingErrors(options, request, () => this.#model.doGenerate(options));
    await this.#record({ request, answer: recordedAnswer(answer, this.#secrets) });
    return answer;
  }

  async doStream(options: LanguageModelV4CallOptions): Promise<LanguageModelV4StreamResult> {
    const request = this.#request(options);
    const result = await this.#recordingErrors(options, request, () => this.#model.doStream(options));
    const collected = new StreamCollector();
    let failure: { error: unknown } | undefined;
    const observe = new TransformStream<LanguageModelV4StreamPart, LanguageModelV4StreamPart>({
      transform: (part, controller) => {
        try {
          collected.add(part);
        } catch (error) {
          failure ??= { error };
        }
        controller.enqueue(part);
      },
      // the connection broke, or the reader stopped
      cancel: async (reason) => {
        if (options.abortSignal?.aborted || !(reason instanceof Error)) return;
        await this.#record({ request, error: recordedError(reason, this.#secrets) });
      },
      // the stream ends only after the call is in the file
      flush: () =>
        this.#record({
          request,
          ...(failure
            ? { error: recordedError(failure.error, this.#secrets) }
            : { answer: recordedAnswer(collected.result(undefined), this.#secrets) }),
        }),
    });
    return { ...result, stream: result.stream.pipeThrough(observe) };
  }

  /** The first one of a recording replaces the file. */
  #request(options: LanguageModelV4CallOptions): RecordedRequest {
    const { resolve } = process.getBuiltinModule('node:path');
    const path = resolve(this.#file);
    if (!this.#hasStarted) recorders.set(path, this);
    this.#hasStarted = true;
    if (recorders.get(path) === this) return recordableRequest(options, this.#secrets);
    const text = `Another recordModel records in ${this.#file} now, and a file keeps the calls of one: give each its own file, or one model to all agents.`;
    throw configError(text);
  }

  /** Cancelled calls are not recorded. */
  async #recordingErrors<Result>(
    { abortSignal }: LanguageModelV4CallOptions,
    request: RecordedCall['request'],
    call: () => PromiseLike<Result>,
  ): Promise<Result> {
    try {
      return await call();
    } catch (error) {
      if (!abortSignal?.aborted) await this.#record({ request, error: recordedError(error, this.#secrets) });
      throw error;
    }
  }

  /** A repeated call replaces the failed attempt before it. */
  #record(call: RecordedCall): Promise<void> {
    const failed = this.#calls.findLastIndex(
      (each) => hasFailed(each) && findDifferences(each.request, call.request).length === 0,
    );
    if (failed >= 0) this.#calls.splice(failed, 1);
    this.#calls.push(call);
    const written = this.#written.then(() => this.#write());
    this.#written = written.catch(() => {}); // the call that failed reports it
    return written;
  }

  async #write(): Promise<void> {
    const { provider, modelId } = this;
    const urls = Object.entries(await this.supportedUrls);
    const supportedUrls = Object.fromEntries(urls.map(([type, patterns]) => [type, patterns.map(String)]));
    const recording: Recording = { provider, modelId, supportedUrls, calls: this.#calls };
    const { dirname } = process.getBuiltinModule('node:path');
    const { writeFile } = fileSystem().promises;
    try {
      await makeFolder(dirname(this.#file));
      await writeFile(this.#file, recordingText(recording));
    } catch (error) {
      const text = `Cannot write the recording ${this.#file}: ${errorText(error)}`;
      throw configError(text, error);
    }
  }
}

function hasFailed({ answer, error }: RecordedCall): boolean {
  return error !== undefined || answer?.finishReason.unified === 'interrupted';
}
