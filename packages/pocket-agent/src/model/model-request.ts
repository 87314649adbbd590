// Adapts requests to the provider of a model, and learns from rejections what to leave out of the next one.
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4Prompt } from '@ai-sdk/provider';
import { promptFor } from './prompt.ts';
import { imagesIn } from './prompt-repair.ts';
import { codesOf, providerErrorText, statusOf } from './provider-errors.ts';
import { learnImages, learnRule } from './provider-rules.ts';

/** How often one call is repeated without what was rejected. Some providers name one bad tool at a time. */
export const MAX_REJECTIONS = 150;

type Tool = NonNullable<LanguageModelV4CallOptions['tools']>[number];

/** Tool definitions that a model rejected. Requests must contain the same objects; a tool that changes is offered again. */
const rejectedTools = new WeakMap<LanguageModelV4, WeakSet<Tool>>();
/** Top-level fields that are left out of the requests of a model. */
const omittedFields = new WeakMap<LanguageModelV4, Set<string>>();

/** The lists in it are copies: models may change them. */
export function requestFor(model: LanguageModelV4, options: LanguageModelV4CallOptions): LanguageModelV4CallOptions {
  const request = { ...options, prompt: [...promptFor(model, options.prompt)] };
  const rejected = rejectedTools.get(model);
  const tools = rejected ? options.tools?.filter((tool) => !rejected.has(tool)) : options.tools;
  if (tools) request.tools = [...tools];
  if (rejected && tools?.length === 0) {
    delete request.tools;
    delete request.toolChoice;
  }
  const { toolChoice: choice } = request;
  // providers reject a choice of a tool that is not in the request
  if (choice?.type === 'tool' && !tools?.some(({ name }) => name === choice.toolName))
    request.toolChoice = { type: 'auto' };
  return mustNotThink(model, request) ? withoutThinking(request) : request;
}

interface Rejection {
  model: LanguageModelV4;
  error: unknown;
  request: LanguageModelV4CallOptions;
}

/** Returns in words what later requests leave out, or undefined if leaving something out would not help. */
export function learnFromRejection({ model, error, request }: Rejection): string | undefined {
  if (model.provider === 'router') return undefined; // the router has repeated the request already
  const status = statusOf(error);
  if (status !== 400 && status !== 404 && status !== 422) return undefined;
  const rejection = `${providerErrorText(error)} ${codesOf(error)}`;
  return (
    learnTools(model, rejection, request.tools ?? []) ??
    learnField(model, rejection) ??
    learnRule(model, rejection) ??
    learnImages({ model, rejection, images: imagesIn(request.prompt) })
  );
}

/** Registers the set that `learnField` fills with the fields to leave out of the requests of the model. */
export function omitFields(model: LanguageModelV4, fields: Set<string>): void {
  omittedFields.set(model, fields);
}

function learnField(model: LanguageModelV4, rejection: string): string | undefined {
  const fields = omittedFields.get(model);
  const isRejected =
    /stream_options.{0,80}(not permitted|unsupported|not supported|unknown|unrecognized|unexpected|extra)/is;
  const isNamed = /(not permitted|unsupported|unknown|unrecognized|unexpected|extra\w*).{0,80}stream_options/is;
  if (!fields || fields.has('stream_options') || !(isRejected.test(rejection) || isNamed.test(rejection)))
    return undefined;
  fields.add('stream_options');
  return 'stream_options';
}

/** How OpenAI, Anthropic and Gemini name a tool that they reject. */
const namedTool = /schema for function '([^']+)'/g;
const numberedTool = /\btools(?:\.|\[)(\d+)(?:\.|\])(?!function_declarations|.?functionDeclarations)/g;
const numberedDeclaration = /function_?declarations\[(\d+)\]/gi;

function learnTools(model: LanguageModelV4, rejection: string, tools: readonly Tool[]): string | undefined {
  const names = [...rejection.matchAll(namedTool)].map(([, name]) => name);
  const declarations = [...rejection.matchAll(numberedDeclaration)];
  const numbers = (declarations.length > 0 ? declarations : [...rejection.matchAll(numberedTool)]).map(([, number]) =>
    Number(number),
  );
  const found = tools.filter((tool, index) => names.includes(tool.name) || numbers.includes(index));
  if (found.length === 0) return undefined;
  const rejected = rejectedTools.get(model) ?? new WeakSet<Tool>();
  rejectedTools.set(model, rejected);
  for (const tool of found) rejected.add(tool);
  return found.map((tool) => `tool "${tool.name}"`).join(', ');
}

/** Claude up to 4.5 cannot start thinking within a turn: a turn that another model began continues without thinking. */
function mustNotThink({ provider, modelId }: LanguageModelV4, options: LanguageModelV4CallOptions): boolean {
  if (!/anthropic/.test(provider) || /claude-[a-z]+-(4-[6-9]|[5-9]|\d\d)(\D|$)/.test(modelId)) return false;
  const asked = options.reasoning !== undefined && !['none', 'provider-default'].includes(options.reasoning);
  const isOn = asked || options.providerOptions?.anthropic?.thinking !== undefined;
  return isOn && options.prompt.at(-1)?.role === 'tool' && !beganWithThought(options.prompt);
}

function beganWithThought(prompt: LanguageModelV4Prompt): boolean {
  const answer = prompt.findLast((message) => message.role === 'assistant');
  const first = answer?.content[0];
  if (first?.type !== 'reasoning') return false;
  const { signature, redactedData } = first.providerOptions?.anthropic ?? {};
  return signature !== undefined || redactedData !== undefined;
}

function withoutThinking({ reasoning: _, ...options }: LanguageModelV4CallOptions): LanguageModelV4CallOptions {
  const { thinking: __, effort: ___, ...anthropic } = options.providerOptions?.anthropic ?? {};
  return { ...options, providerOptions: { ...options.providerOptions, anthropic } };
}
