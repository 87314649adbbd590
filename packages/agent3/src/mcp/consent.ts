// Decides which messages need a person's consent, and asks for it over MCP (all protocol versions).
//
// A model writes the arguments, so `maxCost` and `agreedPrice` can only lower what a person agreed to, by answering a
// question or by configuring a spending limit.
import {
  acceptedContent,
  CLIENT_CAPABILITIES_META_KEY,
  fromJsonSchema,
  type InputRequiredResult,
  inputRequired,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { isRecord } from '@pocket-agent/kit';
import type { Agent3, Caller } from '../base/agent3.ts';
import { Agent3Error } from '../base/agent3-error.ts';
import type { Price } from '../base/agents.ts';
import type { CallRequest } from '../base/calls.ts';
import { cleanLine } from '../base/clean-text.ts';
import { digestOf } from '../base/digest.ts';
import { isPaid, priceText } from '../base/price-text.ts';
import { DEFAULT_TIMEOUT_MS } from '../bridge/deadline.ts';
import { isCovered, maxCostOf } from '../bridge/price.ts';
import type { CallMemory } from './call-memory.ts';

/** paid: calls that cost money, unless they are within the caller's spending limit. */
export type ConfirmCalls = 'never' | 'paid' | 'always';

/** US dollars that one call may cost without a question. Set by a person, never by a model. */
export type SpendingLimit = (caller: Caller) => number | undefined;

const SHOWN_MESSAGE = 500;
const SHOWN_NAME = 100;
const FREE: Price = { currency: 'USD' };

const approve = { type: 'boolean' as const, title: 'Send it' };
const maxCost = { type: 'number' as const, title: 'Maximum cost of each call in US dollars', minimum: 0 };
const answerSchema = { type: 'object' as const, properties: { approve }, required: ['approve'] };
const costSchema = { ...answerSchema, properties: { approve, maxCost } };

/** A message to an agent, or to the agent of a task. */
export type Sending = Pick<CallRequest, 'message' | 'files' | 'mode' | 'metadata'> &
  ({ agentId: string } | { taskHandle: string });

/** What one message may cost. */
export interface AgreedCost {
  price?: Price;
  maxCost?: number;
}

interface ConsentRequest {
  agent3: Agent3;
  caller: Caller;
  confirm: ConfirmCalls;
  spendingLimit: SpendingLimit;
  memory: CallMemory;
  server: McpServer;
  context: ServerContext;
}

/** What each message may cost if all may be sent; otherwise a question or a refusal. */
export async function requestConsent(
  sendings: readonly Sending[],
  { server, context, ...request }: ConsentRequest,
): Promise<{ agreed: readonly AgreedCost[] } | { question: InputRequiredResult } | { refused: string }> {
  if (request.confirm === 'never') return { agreed: [] };
  const terms = await Promise.all(sendings.map((sending) => termsOf(sending, request)));
  const inQuestion = terms.filter(({ line }) => line !== undefined);
  if (inQuestion.length === 0) return { agreed: terms };
  // an approval covers only these messages, files and prices
  const key = `consent-${digestOf([inQuestion, sendings])}`;
  const { inputResponses } = context.mcpReq;
  const form = fromJsonSchema<{ approve: boolean; maxCost?: number }>(costSchema);
  const answer = acceptedContent(inputResponses, key, form);
  if (answer?.approve === true) return { agreed: terms.map((each) => (each.line ? limitTo(answer, each) : each)) };
  const response = inputResponses?.[key];
  if (response) return { refused: isCancel(response) ? NO_ANSWER : 'the user declined.' };
  if (!canBeAsked(server, context)) return { refused: cannotAskText(inQuestion, request) };
  const elicitation = inputRequired.elicit({
    message: `May this be sent to ${inQuestion.length === 1 ? 'this agent' : 'these agents'}?\n${inQuestion.map(({ line }) => line).join('\n')}`,
    requestedSchema: inQuestion.some(({ price }) => price?.perToken) ? costSchema : answerSchema,
  });
  return { question: inputRequired({ inputRequests: { [key]: elicitation } }) };
}

interface Terms extends AgreedCost {
  /** Set if a person must agree. */
  line?: string;
  name?: string;
}

/** The agreed price and the lower of both limits. */
function limitTo(answer: { maxCost?: number }, { price, maxCost }: Terms): AgreedCost {
  const costs = [answer.maxCost, maxCost].filter((cost) => cost !== undefined);
  return { ...(price ? { price } : {}), ...(costs.length > 0 ? { maxCost: Math.min(...costs) } : {}) };
}

type ConsentTerms = Omit<ConsentRequest, 'server' | 'context'>;

async function termsOf(sending: Sending, request: ConsentTerms): Promise<Terms> {
  const { agent3, caller, confirm, spendingLimit } = request;
  const { metadata = {} } = sending;
  const shown = contentText(sending);
  const askAlways = (line: string) => (confirm === 'always' ? { line } : {});
  const agentId = await agentOf(sending, request);
  // the call itself reports an unknown task
  if (agentId === undefined) return { ...askAlways(`in answer to its question: ${shown}`), price: FREE };
  const agent = await agent3.select(agentId, caller).catch(unlessUnknown);
  if (!agent) return { price: FREE };
  const { name, price } = agent;
  if (!isPaid(price)) return { ...askAlways(`${name} (${agentId}): ${shown}`), price: FREE };
  const { timeout: timeoutMs = DEFAULT_TIMEOUT_MS, maxCost } = metadata;
  const covers = (limit: number | undefined) =>
    limit !== undefined && isCovered(price, { maxCost: limit, timeoutMs }) ? limit : undefined;
  const covering =
    confirm === 'paid' ? (covers(spendingLimit(caller)) ?? covers(await agreedPerCall(request))) : undefined;
  if (covering !== undefined) return { maxCost: covering };
  const isLeftRunning = sending.mode === 'start';
  const bound = maxCost ?? (isLeftRunning ? undefined : costOfTime(price, timeoutMs));
  const time = isLeftRunning ? 'as long as its task takes' : `at most ${timeoutMs / 1_000} s`;
  const duration = price.perMinute ? ` (${time})` : '';
  const maximum = bound === undefined ? '' : `, at most $${bound}`;
  const line = `${name} (${agentId}), ${priceText(price)}${duration}${maximum}: ${shown}`;
  return { line, price, name, ...(bound === undefined ? {} : { maxCost: bound }) };
}

/** What the caller, a person, agreed to per call; without a limit for all calls together it is not enough. */
async function agreedPerCall({ agent3, caller }: ConsentTerms): Promise<number | undefined> {
  const { perCall, perDay, perMonth } = (await agent3.account(caller)).limits;
  return (perDay ?? perMonth) === undefined ? undefined : perCall;
}

/** The maximum cost of a call priced by the minute; undefined for other prices. */
function costOfTime(price: Price, timeoutMs: number): number | undefined {
  return price.perMinute && !price.perToken ? maxCostOf(price, { timeoutMs }) : undefined;
}

function contentText({ message, files = [] }: Sending): string {
  const text = message.slice(0, SHOWN_MESSAGE);
  const cut = message.length > SHOWN_MESSAGE ? `… (${message.length} characters in all)` : '';
  const fileTexts = files.map(({ name, mediaType, base64 }) => {
    const bytes = Math.floor((base64.length * 3) / 4);
    return `"${cleanLine(name, SHOWN_NAME)}" (${cleanLine(mediaType, SHOWN_NAME)}, ${bytes} bytes)`;
  });
  const attached =
    fileTexts.length === 0
      ? ''
      : `\n  with ${fileTexts.length === 1 ? 'the file' : 'the files'} ${fileTexts.join(', ')}`;
  return `${text}${cut}${attached}`;
}

/** After a restart, only the registry knows the agent of a task. */
async function agentOf(sending: Sending, { agent3, caller, memory }: ConsentTerms): Promise<string | undefined> {
  if ('agentId' in sending) return sending.agentId;
  const { taskHandle } = sending;
  const agentId = memory.agentOf(caller, taskHandle);
  if (agentId !== undefined) return agentId;
  return (await agent3.task({ action: 'get', taskHandle }, caller)).task?.agentId;
}

/** The call itself reports an unknown agent. */
function unlessUnknown(error: unknown): undefined {
  if (error instanceof Agent3Error && error.code === 'AGENT_UNKNOWN') return undefined;
  throw error;
}

const NO_ANSWER = 'the user closed the question without an answer. Ask your user before you call again.';

function isCancel(response: object): boolean {
  return 'action' in response && response.action === 'cancel';
}

function cannotAskText(terms: readonly Terms[], { confirm, caller, spendingLimit }: ConsentTerms): string {
  if (confirm === 'always')
    return 'a person must approve every call here, and this MCP client cannot ask. Use an MCP client with elicitation, or set AGENT3_CONFIRM=paid.';
  const prices = terms.map(({ name, price }) => `${name} charges ${priceText(price)}`).join('; ');
  const limit = spendingLimit(caller);
  const why = limit === undefined ? '' : ` The limit is $${limit} per call, and this call can cost more.`;
  const [where, example] = caller.isLocal
    ? ['in the environment of this Agent3 server', '0.05']
    : ['in the environment of the hub', `${caller.id}=0.05`];
  return (
    `${prices}. A person must agree to that, and this MCP client cannot ask.${why} ` +
    `To agree, a person runs agent3 limits --per-call 0.05 --per-day 1, sets AGENT3_DOLLARS_PER_CALL (for example ${example}) ` +
    `and AGENT3_DOLLARS_PER_DAY ${where} and restarts it, or uses an MCP client with elicitation. maxCost can only lower what a ` +
    'person agreed to.'
  );
}

function canBeAsked(server: McpServer, { mcpReq: { envelope } }: ServerContext): boolean {
  const requested = (envelope as Record<string, unknown> | undefined)?.[CLIENT_CAPABILITIES_META_KEY];
  const declared = requested ?? server.server.getClientCapabilities();
  return isRecord(declared) && 'elicitation' in declared;
}
