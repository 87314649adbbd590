// Asks the model for the answer of one run in a way that its provider supports, and in another one if it does not.
import type { JSONSchema7, LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { isPocketError, type PocketError } from '@pocket-agent/kit';
import { callModel, type ModelCall, type ModelResponse, type ToolInputPart } from '../model/model-call.ts';
import { forgetSchemaSupport, rulesOf } from '../model/provider-rules.ts';
import type { AnswerSchema } from './answer-schema.ts';
import type { Output } from './output-options.ts';
import { PartialAnswer } from './partial-answer.ts';

const TOOL_NAME = 'final_answer';
const FORMAT_NAME = 'answer';

/** Models that rejected a forced tool call. */
const refusesForcedCalls = new WeakSet<LanguageModelV4>();
/** Schemas that a model rejected, although it enforces others. */
const rejectedSchemas = new WeakMap<LanguageModelV4, WeakSet<AnswerSchema>>();

export class AnswerRequest {
  readonly #output: Output;
  readonly #partial: PartialAnswer;
  #model: LanguageModelV4 | undefined;
  #way: 'native' | 'tool' | undefined;
  #toolName = TOOL_NAME;
  #mustCall = false;
  /** The model has finished its work with tools. */
  #isLastStep = false;

  /** `show` gets the answer as far as it has arrived, again and again. */
  constructor(output: Output, show: (value: unknown) => void) {
    this.#output = output;
    this.#partial = new PartialAnswer((written) => {
      const value = output.schema.answerIn(written);
      if (value !== undefined) show(value);
    });
  }

  /** The tool that takes the answer; undefined if the model writes it as text. */
  get toolName(): string | undefined {
    return this.#way === 'native' ? undefined : this.#toolName;
  }

  /** For a run that began in another process: the answer may be a call already. */
  nameTool(tools: Iterable<{ name: string }>): void {
    const names = new Set(Array.from(tools, ({ name }) => name));
    this.#toolName = TOOL_NAME;
    for (let number = 2; names.has(this.#toolName); number++) this.#toolName = `${TOOL_NAME}_${number}`;
  }

  /** Calls the model of one step. */
  async callModel(call: ModelCall): Promise<ModelResponse> {
    this.#model = call.model;
    for (;;) {
      const prepared = this.#prepare(call);
      try {
        const response = await callModel(prepared);
        this.#partial.end();
        if (response.warnings.some(isIgnoredFormat)) forgetSchemaSupport(call.model);
        return response;
      } catch (error) {
        if (!this.#learn(call.model, prepared.options, error)) throw error;
      }
    }
  }

  /** The model has finished. True if it was not asked for JSON so far, and will be now. */
  beginLastStep(): boolean {
    if (this.#way !== 'native' || this.#isLastStep) return false;
    this.#isLastStep = true;
    return true;
  }

  /** The text of the model is not the answer. Changes the way of asking, unless the mode is `native`. */
  refuseText(isJson: boolean): void {
    if (this.#way === 'native') {
      // a provider that enforces schemas returns JSON
      if (!isJson && this.#model) forgetSchemaSupport(this.#model);
      if (this.#output.mode === 'native') return;
    }
    this.#way = 'tool';
    this.#mustCall = true;
  }

  #prepare(call: ModelCall): ModelCall {
    const { options, model } = call;
    const hasTools = (options.tools?.length ?? 0) > 0;
    this.#way ??= this.#chooseWay(model, hasTools);
    this.#partial.reset();
    const observed = call.onDelta ? this.#observed(call) : call;
    if (this.#way === 'tool') return { ...observed, options: this.#withTool(options, model) };
    this.#isLastStep ||= !hasTools;
    return this.#isLastStep ? { ...observed, options: this.#withFormat(options, model) } : call;
  }

  #chooseWay(model: LanguageModelV4, hasTools: boolean): 'native' | 'tool' {
    const { mode, schema } = this.#output;
    if (mode !== 'auto') return mode;
    const { enforcedSchemas } = rulesOf(model);
    const isEnforced = enforcedSchemas === 'all' || (enforcedSchemas === 'strict' && schema.strict !== undefined);
    return isEnforced && !hasTools && !rejectedSchemas.get(model)?.has(schema) ? 'native' : 'tool';
  }

  /** Shows the answer as it arrives, instead of its JSON. */
  #observed(call: ModelCall): ModelCall {
    const onRetry: ModelCall['onRetry'] = (retry) => {
      this.#partial.reset();
      call.onRetry(retry);
    };
    if (this.#way === 'tool') return { ...call, onRetry, onToolInput: this.#toolInputReader() };
    const onDelta: ModelCall['onDelta'] = (type, delta) => {
      if (type === 'text_delta') this.#partial.add(delta);
      else call.onDelta?.(type, delta);
    };
    return { ...call, onRetry, onDelta };
  }

  #toolInputReader(): (part: ToolInputPart) => void {
    let answerId: string | undefined;
    return (part) => {
      if (part.type === 'tool-input-delta') {
        if (part.id === answerId) this.#partial.add(part.delta);
      } else if (part.toolName === this.#toolName) {
        this.#partial.reset();
        answerId = part.id;
      }
    };
  }

  #withTool({ responseFormat: _, ...options }: LanguageModelV4CallOptions, model: LanguageModelV4) {
    const { tools = [] } = options;
    this.nameTool(tools);
    const isForced = (this.#mustCall || tools.length === 0) && !refusesForcedCalls.has(model);
    const toolChoice = isForced
      ? { type: 'tool' as const, toolName: this.#toolName }
      : (options.toolChoice ?? { type: 'auto' as const });
    return { ...options, tools: [...tools, this.#output.schema.definition(this.#toolName)], toolChoice };
  }

  #withFormat(options: LanguageModelV4CallOptions, model: LanguageModelV4): LanguageModelV4CallOptions {
    const { schema } = this.#output;
    const strict = rulesOf(model).enforcedSchemas === 'strict' ? schema.strict : undefined;
    return {
      ...options,
      responseFormat: { type: 'json', name: FORMAT_NAME, schema: (strict ?? schema.asked) as JSONSchema7 },
      // the tools stay: providers reject a history with tool calls and no tools
      ...(options.tools ? { toolChoice: { type: 'none' } } : {}),
      ...(strict ? {} : { providerOptions: withoutStrictness(options.providerOptions) }),
    };
  }

  /** Whether the rejected request can be made in another way. */
  #learn(model: LanguageModelV4, { responseFormat, toolChoice }: LanguageModelV4CallOptions, error: unknown): boolean {
    if (!isPocketError(error, 'MODEL_FAILED') || !isRejection(error)) return false;
    const { mode, schema } = this.#output;
    if (this.#way === 'tool') {
      if (toolChoice?.type !== 'tool' || refusesForcedCalls.has(model) || !FORCED_CALL.test(error.message))
        return false;
      refusesForcedCalls.add(model);
      return true;
    }
    if (!responseFormat || mode === 'native' || !FORMAT.test(error.message)) return false;
    if (UNSUPPORTED.test(error.message) && !/invalid schema/i.test(error.message)) forgetSchemaSupport(model);
    else rejectedSchemas.set(model, (rejectedSchemas.get(model) ?? new WeakSet()).add(schema));
    this.#way = 'tool';
    return true;
  }
}

const FORMAT =
  /response.?format|response.?schema|json_?schema|output_?format|output_config|text\.format|structured.?output/i;
const UNSUPPORTED = /unsupported|not support|unknown|unrecognized|not permitted|extra/i;
const FORCED_CALL = /tool.?choice|function_?calling_?config|forced? tool/i;

/** A router reports no status when its deployments rejected a request. */
function isRejection({ details: { statusCode } }: PocketError): boolean {
  return statusCode === undefined || statusCode === 400 || statusCode === 404 || statusCode === 422;
}

/** The provider package left the schema out of the request. */
function isIgnoredFormat(warning: ModelResponse['warnings'][number]): boolean {
  return 'feature' in warning && warning.feature.startsWith('responseFormat');
}

/** These packages ask for strict schemas by default, and their servers would reject this one. */
function withoutStrictness(given: LanguageModelV4CallOptions['providerOptions'] = {}) {
  const names = ['openai', 'azure', 'groq'];
  return { ...given, ...Object.fromEntries(names.map((name) => [name, { strictJsonSchema: false, ...given[name] }])) };
}
