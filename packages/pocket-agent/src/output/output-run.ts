// One run with an output: the model is asked for the answer, what it writes is checked, and it may correct it.
import { abortable, configError, type PocketError } from '@pocket-agent/kit';
import type { CallResults, ToolCall, ToolResult } from '../base/tool-call.ts';
import type { CheckedValue } from '../base/value-schema.ts';
import type { ModelCall, ModelResponse } from '../model/model-call.ts';
import { AnswerRequest } from './answer-request.ts';
import { jsonIn } from './answer-text.ts';
import type { Output } from './output-options.ts';
import { correctionText, invalidOutput, jsonRequest, toolCorrectionText, toolRequest } from './request-texts.ts';

/** A call as the model wrote it, or the reason why it cannot be read. */
interface WrittenCall {
  call: ToolCall;
  malformed?: PocketError;
}

/** The step whose calls are read. */
interface Step {
  finishReason: ModelResponse['finishReason'];
  signal: AbortSignal;
}

interface CallReading {
  isCutOff: boolean;
  signal: AbortSignal;
}

export class OutputRun {
  readonly #output: Output;
  readonly #request: AnswerRequest;
  #retriesLeft: number;
  #answer: { value: unknown } | undefined;
  #cutOffText: string | undefined;

  /** `show` gets the answer as far as it has arrived, again and again. */
  constructor(output: Output, show: (value: unknown) => void) {
    this.#output = output;
    this.#request = new AnswerRequest(output, show);
    this.#retriesLeft = output.retries;
  }

  /** The accepted answer. */
  get answer(): { value: unknown } | undefined {
    return this.#answer;
  }

  /** The beginning of an answer that was cut off. */
  get cutOffText(): string | undefined {
    return this.#cutOffText;
  }

  /** No further step is needed: an answer was accepted, or was cut off. */
  get isSettled(): boolean {
    return this.#answer !== undefined || this.#cutOffText !== undefined;
  }

  /** Throws if the schema cannot be used, before the model is asked for anything. */
  async checkSchema(): Promise<void> {
    const fault = await this.#output.schema.fault();
    if (fault !== undefined) throw unusableSchema(fault);
  }

  /** The run began in another process, with these tools. */
  resume(tools: Iterable<{ name: string }>): void {
    this.#request.nameTool(tools);
  }

  callModel(call: ModelCall): Promise<ModelResponse> {
    return this.#request.callModel(call);
  }

  /** The results of all calls of a step, in order. The answer is not an action, so it does not pass the gate of tools. */
  async runCalls<Call extends WrittenCall>(
    requested: readonly Call[],
    { finishReason: { unified }, signal }: Step,
    runOthers: (calls: readonly Call[]) => Promise<CallResults>,
  ): Promise<CallResults> {
    const { toolName } = this.#request;
    const { answers = [], others = [] } = Object.groupBy(requested, ({ call }) =>
      call.name === toolName ? 'answers' : 'others',
    );
    const ran = others.length > 0 ? await runOthers(others) : { results: [], runError: undefined };
    if (answers.length === 0) return ran;
    const isCutOff = unified === 'length' || unified === 'interrupted';
    const read = await this.#readCalls(answers, { isCutOff, signal });
    const byId = new Map([...ran.results, ...read.results].map((result) => [result.toolCallId, result]));
    const results = requested.flatMap(({ call }) => byId.get(call.id) ?? []);
    return { ...ran, results, runError: ran.runError ?? read.runError };
  }

  /** Reads the text of a model that has finished: the answer, or what to ask next. Throws if no correction is left. */
  async readText(text: string, signal: AbortSignal): Promise<{ value: unknown } | { request: string }> {
    const { schema } = this.#output;
    const found = jsonIn(text);
    const checked = 'json' in found ? await abortable(schema.check(found.json), signal) : { problems: [found.problem] };
    if ('value' in checked) {
      this.#answer = checked;
      return checked;
    }
    if (this.#request.beginLastStep()) return { request: jsonRequest(schema) };
    const refusal = this.#refusal(checked, text);
    this.#request.refuseText('json' in found);
    if (refusal) throw refusal;
    const { toolName } = this.#request;
    const problems = problemsOf(checked);
    const request = toolName ? toolRequest(toolName, problems, schema) : correctionText(problems, schema);
    return { request };
  }

  async #readCalls(calls: readonly WrittenCall[], { isCutOff, signal }: CallReading): Promise<CallResults> {
    const results: ToolResult[] = [];
    let refused: { checked: CheckedValue; text: string } | undefined;
    let runError: unknown;
    for (const { call, malformed } of calls) {
      const text = malformed ? String(malformed.details.text ?? '') : JSON.stringify(call.arguments);
      if (this.#answer) results.push(answerResult(call, 'Another answer was accepted.'));
      else if (malformed && isCutOff) {
        this.#cutOffText = text;
        results.push(answerResult(call, malformed.message, true));
      } else {
        const checked = await this.#checkCall({ call, malformed }, signal).catch((error: unknown) => {
          runError ??= error;
          return undefined;
        });
        if (!checked) results.push(answerResult(call, 'This answer could not be checked.', true));
        else if ('value' in checked) {
          this.#answer = checked;
          results.push(answerResult(call, 'Accepted.'));
        } else {
          refused ??= { checked, text };
          results.push(answerResult(call, toolCorrectionText(call.name, problemsOf(checked)), true));
        }
      }
    }
    if (refused && !this.isSettled) runError ??= this.#refusal(refused.checked, refused.text);
    return { results, runError };
  }

  /** The schema of the program may throw, or take any time. */
  async #checkCall({ call, malformed }: WrittenCall, signal: AbortSignal): Promise<CheckedValue> {
    if (malformed) return { problems: [malformed.message] };
    return abortable(this.#output.schema.check(call.arguments), signal);
  }

  /** Why the model is not asked again; undefined if it is. */
  #refusal(checked: CheckedValue, text: string): PocketError | undefined {
    if ('unusable' in checked) return unusableSchema(checked.unusable);
    if (this.#retriesLeft-- > 0) return undefined;
    return invalidOutput({ problems: problemsOf(checked), text, retries: this.#output.retries });
  }
}

function unusableSchema(fault: string): PocketError {
  return configError(`The output schema cannot be used: ${fault}`);
}

function problemsOf(checked: CheckedValue): readonly string[] {
  return 'problems' in checked ? checked.problems : [];
}

function answerResult({ id, name }: ToolCall, text: string, isError = false): ToolResult {
  const toolResultContent = [{ type: 'text' as const, text }];
  return {
    toolCallId: id,
    toolCallName: name,
    toolResultContent,
    ...(isError ? { isError } : {}),
    extra: { isAnswer: true },
  };
}
