// Adapts requests to the provider of a model, and learns from rejections what to leave out of the next one.
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4Prompt } from '@ai-sdk/provider';
import type { Logger } from '@pocket-agent/kit';
import { omittedFields } from '../providers/provider-models.ts';
import { learnImages, refuseFiles } from './file-rules.ts';
import { promptFor } from './prompt.ts';
import { codesOf, providerErrorText, statusOf } from './provider-errors.ts';
import { isGemini3, learnRule, modelsOf } from './provider-rules.ts';

/** How often one call is repeated without what was rejected. Some providers name one bad tool at a time. */
export const MAX_REJECTIONS = 150;

type Tool = NonNullable<LanguageModelV4CallOptions['tools']>[number];

/** Tool definitions that a model rejected, by object: a changed tool has a new definition, which is offered again. */
const rejectedTools = new WeakMap<LanguageModelV4, WeakSet<Tool>>();

/** The request for this model. Its lists are copies, because models may change them. */
export function requestFor(model: LanguageModelV4, options: LanguageModelV4CallOptions): LanguageModelV4CallOptions {
  const request = { ...options, prompt: [...promptFor(model, options.prompt)] };
  const rejected = rejectedTools.get(model);
  const accepted = rejected ? options.tools?.filter((tool) => !rejected.has(tool)) : options.tools;
  const tools = accepted && model.provider !== 'router' ? offeredTools(model, accepted) : accepted;
  if (tools) request.tools = [...tools];
  if (tools !== options.tools && tools?.length === 0) {
    delete request.tools;
    delete request.toolChoice;
  }
  const { toolChoice: choice } = request;
  // providers reject a choice of a tool that is not in the request
  if (choice?.type === 'tool' && !tools?.some(({ name }) => name === choice.toolName))
    request.toolChoice = { type: 'auto' };
  return mustNotThink(model, request) ? withoutThinking(request) : request;
}

/** Tools that providers run go only to models of their provider. */
function offeredTools(model: LanguageModelV4, tools: readonly Tool[]): readonly Tool[] {
  if (!tools.some(({ type }) => type === 'provider')) return tools;
  return tools.filter((tool) => tool.type === 'function' || reasonNotOffered(model, tool.id, tools) === undefined);
}

/** Undefined if the model gets the tool. */
function reasonNotOffered(
  { provider, modelId }: LanguageModelV4,
  id: string,
  tools: readonly Tool[],
): string | undefined {
  const maker = id.split('.')[0] ?? '';
  const isOwn = Object.hasOwn(modelsOfMaker, maker)
    ? modelsOfMaker[maker]?.test(provider)
    : provider.split('.')[0] === maker;
  if (!isOwn) return `it is a tool of ${maker}`;
  // the package would leave out the functions
  const isMixed = tools.some(({ type }) => type === 'function');
  if (maker === 'google' && isMixed && !isGemini3(modelId))
    return 'Gemini before version 3 takes either functions or tools of its provider';
  return undefined;
}

/** The providers whose packages send the tools of a maker. */
const modelsOfMaker: Readonly<Record<string, RegExp>> = {
  anthropic: /anthropic/,
  openai: /^(?!xai).*\.responses$/,
  google: /^google\b(?!.*anthropic)/,
};

const warnedOf = new WeakMap<LanguageModelV4, Set<string>>();

/** Warns once for each provider tool that a model, or a model behind it, does not get. */
export async function warnOfProviderTools(model: LanguageModelV4, tools: readonly Tool[], logger: Logger) {
  for (const each of await modelsOf(model)) {
    const known = warnedOf.get(each) ?? new Set();
    warnedOf.set(each, known);
    for (const tool of tools) {
      const reason = tool.type === 'provider' ? reasonNotOffered(each, tool.id, tools) : undefined;
      if (tool.type !== 'provider' || reason === undefined || known.has(tool.id)) continue;
      known.add(tool.id);
      logger.warn(`Model ${each.modelId} (${each.provider}) does not get the provider tool "${tool.id}": ${reason}.`);
    }
  }
}

interface Rejection {
  model: LanguageModelV4;
  error: unknown;
  request: LanguageModelV4CallOptions;
}

/**
 * Returns in words what later requests leave out, or undefined if leaving something out would not help. Throws
 * `FILE_UNSUPPORTED` if a file was rejected; later requests leave that out, too.
 */
export function learnFromRejection({ model, error, request }: Rejection): string | undefined {
  if (model.provider === 'router') return undefined; // the router has repeated the request already
  const status = statusOf(error);
  const isUnsupported = error instanceof Error && error.name === 'AI_UnsupportedFunctionalityError';
  if (status !== 400 && status !== 404 && status !== 415 && status !== 422 && !isUnsupported) return undefined;
  const rejection = `${providerErrorText(error)} ${codesOf(error)}`;
  const { prompt } = request;
  const learned =
    learnTools(model, rejection, request.tools ?? []) ??
    learnField(model, rejection) ??
    learnRule(model, rejection) ??
    learnImages({ model, rejection, prompt });
  if (learned === undefined) refuseFiles({ model, rejection, prompt });
  return learned;
}

function learnField(model: LanguageModelV4, rejection: string): string | undefined {
  const fields = omittedFields(model);
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
