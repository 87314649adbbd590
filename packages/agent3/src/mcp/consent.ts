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
import { digestOf } from '../base/canonical-json.ts';
import { cleanLine } from '../base/clean-text.ts';
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
export interface Agreed {
  price?: Price;
  maxCost?: number;
}

interface Consent {
  agent3: Agent3;
  caller: Caller;
  confirm: ConfirmCalls;
  spendingLimit: SpendingLimit;
  memory: CallMemory;
  server: McpServer;
  context: ServerContext;
}

/** What each message may cost if all may be sent; otherwise a question or a refusal. */
export async function consentTo(
  sendings: readonly Sending[],
  { server, context, ...asking }: Consent,
): Promise<{ agreed: readonly Agreed[] } | { question: InputRequiredResult } | { refused: string }> {
  if (asking.confirm === 'never') return { agreed: [] };
  const terms = await Promise.all(sendings.map((sending) => termsOf(sending, asking)));
  const asked = terms.filter(({ line }) => line !== undefined);
  if (asked.length === 0) return { agreed: terms };
  // an approval covers only these messages, files and prices
  const key = `consent-${digestOf([asked, sendings])}`;
  const { inputResponses } = context.mcpReq;
  const form = fromJsonSchema<{ approve: boolean; maxCost?: number }>(costSchema);
  const answer = acceptedContent(inputResponses, key, form);
  if (answer?.approve === true) return { agreed: terms.map((each) => (each.line ? within(each, answer) : each)) };
  const said = inputResponses?.[key];
  if (said) return { refused: isCancel(said) ? NO_ANSWER : 'the user declined.' };
  if (!canBeAsked(server, context)) return { refused: cannotAskText(asked, asking) };
  const elicitation = inputRequired.elicit({
    message: `May this be sent to ${asked.length === 1 ? 'this agent' : 'these agents'}?\n${asked.map(({ line }) => line).join('\n')}`,
    requestedSchema: asked.some(({ price }) => price?.perToken) ? costSchema : answerSchema,
  });
  return { question: inputRequired({ inputRequests: { [key]: elicitation } }) };
}

interface Terms extends Agreed {
  /** Set if a person must agree. */
  line?: string;
  name?: string;
}

function within({ price, maxCost }: Terms, answer: { maxCost?: number }): Agreed {
  const costs = [answer.maxCost, maxCost].filter((cost) => cost !== undefined);
  return { ...(price ? { price } : {}), ...(costs.length > 0 ? { maxCost: Math.min(...costs) } : {}) };
}

type Asking = Omit<Consent, 'server' | 'context'>;

async function termsOf(sending: Sending, asking: Asking): Promise<Terms> {
  const { agent3, caller, confirm, spendingLimit } = asking;
  const { metadata = {} } = sending;
  const shown = contentText(sending);
  const askAlways = (line: string) => (confirm === 'always' ? { line } : {});
  const agentId = await agentOf(sending, asking);
  // the call itself reports an unknown task
  if (agentId === undefined) return { ...askAlways(`in answer to its question: ${shown}`), price: FREE };
  const agent = await agent3.select(agentId, caller).catch(unlessUnknown);
  if (!agent) return { price: FREE };
  const { name, price } = agent;
  if (!isPaid(price)) return { ...askAlways(`${name} (${agentId}): ${shown}`), price: FREE };
  const limit = spendingLimit(caller);
  const { timeout: timeoutMs = DEFAULT_TIMEOUT_MS, maxCost } = metadata;
  if (confirm === 'paid' && limit !== undefined && isCovered(price, { maxCost: limit, timeoutMs }))
    return { maxCost: limit };
  const isLeftRunning = sending.mode === 'start';
  const bound = maxCost ?? (isLeftRunning ? undefined : costOfTime(price, timeoutMs));
  const time = isLeftRunning ? 'as long as its task takes' : `at most ${timeoutMs / 1_000} s`;
  const duration = price.perMinute ? ` (${time})` : '';
  const most = bound === undefined ? '' : `, at most $${bound}`;
  const line = `${name} (${agentId}), ${priceText(price)}${duration}${most}: ${shown}`;
  return { line, price, name, ...(bound === undefined ? {} : { maxCost: bound }) };
}

/** The maximum cost of a call priced by the minute; undefined for other prices. */
function costOfTime(price: Price, timeoutMs: number): number | undefined {
  return price.perMinute && !price.perToken ? maxCostOf(price, { timeoutMs }) : undefined;
}

function contentText({ message, files = [] }: Sending): string {
  const text = message.slice(0, SHOWN_MESSAGE);
  const cut = message.length > SHOWN_MESSAGE ? `… (${message.length} characters in all)` : '';
  const named = files.map(({ name, mediaType, base64 }) => {
    const bytes = Math.floor((base64.length * 3) / 4);
    return `"${cleanLine(name, SHOWN_NAME)}" (${cleanLine(mediaType, SHOWN_NAME)}, ${bytes} bytes)`;
  });
  const sent =
    named.length === 0 ? '' : `\n  with ${named.length === 1 ? 'the file' : 'the files'} ${named.join(', ')}`;
  return `${text}${cut}${sent}`;
}

/** After a restart, only the registry knows the agent of a task. */
async function agentOf(sending: Sending, { agent3, caller, memory }: Asking): Promise<string | undefined> {
  if ('agentId' in sending) return sending.agentId;
  const { taskHandle } = sending;
  const known = memory.agentOf(caller, taskHandle);
  if (known !== undefined) return known;
  return (await agent3.task({ action: 'get', taskHandle }, caller)).task?.agentId;
}

/** The call itself reports an unknown agent. */
function unlessUnknown(error: unknown): undefined {
  if (error instanceof Agent3Error && error.code === 'AGENT_UNKNOWN') return undefined;
  throw error;
}

const NO_ANSWER =
  'the question whether to send it was dismissed without an answer. Ask your user before you call again.';

function isCancel(said: object): boolean {
  return 'action' in said && said.action === 'cancel';
}

function cannotAskText(asked: readonly Terms[], { confirm, caller, spendingLimit }: Asking): string {
  if (confirm === 'always')
    return 'a person must approve every call here, and this MCP client cannot ask. Use an MCP client with elicitation, or set AGENT3_CONFIRM=paid.';
  const prices = asked.map(({ name, price }) => `${name} charges ${priceText(price)}`).join('; ');
  const limit = spendingLimit(caller);
  const why = limit === undefined ? '' : ` The limit is $${limit} per call, and this call can cost more.`;
  const [where, example] = caller.isLocal
    ? ['in the environment of this Agent3 server', '0.05']
    : ['in the environment of the hub', `${caller.id}=0.05`];
  return (
    `${prices}. A person must agree to that, and this MCP client cannot ask.${why} ` +
    `To agree, a person sets AGENT3_DOLLARS_PER_CALL (for example ${example}) and AGENT3_DOLLARS_PER_DAY ${where} ` +
    'and restarts it, or uses an MCP client with elicitation. maxCost can only lower what a person agreed to.'
  );
}

function canBeAsked(server: McpServer, { mcpReq: { envelope } }: ServerContext): boolean {
  const sent = (envelope as Record<string, unknown> | undefined)?.[CLIENT_CAPABILITIES_META_KEY];
  const declared = sent ?? server.server.getClientCapabilities();
  return isRecord(declared) && 'elicitation' in declared;
}
