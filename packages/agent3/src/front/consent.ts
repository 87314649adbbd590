// Whether somebody must say yes before a stranger is called, and how that is asked over MCP in both eras.
import {
  acceptedContent,
  CLIENT_CAPABILITIES_META_KEY,
  fromJsonSchema,
  type InputRequiredResult,
  inputRequired,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { isPaid, priceText } from '../price-text.ts';
import { Agent3Error } from '../registry/agent3-error.ts';
import { digestOf } from '../registry/canonical-json.ts';
import type { Agent3, Caller, CallRequest, Price } from '../types.ts';
import type { CallMemory } from './call-memory.ts';

/** paid: calls that cost money, unless the request says how much they may. */
export type ConfirmCalls = 'never' | 'paid' | 'always';

const SHOWN_MESSAGE = 500;
const FREE: Price = { currency: 'USD' };

const answerSchema = {
  type: 'object' as const,
  properties: { approve: { type: 'boolean' as const, title: 'Send it' } },
  required: ['approve'],
};

/** A message to a stranger: to an agent, or to that of a task already begun. */
export type Sending = Pick<CallRequest, 'message' | 'metadata'> & ({ agentId: string } | { taskHandle: string });

interface Consent {
  agent3: Agent3;
  caller: Caller;
  confirm: ConfirmCalls;
  memory: CallMemory;
  server: McpServer;
  context: ServerContext;
}

/** The highest price of each message, where there is such a bound, when they may go out; else a question or a no. */
export async function consentTo(
  sendings: readonly Sending[],
  { server, context, ...asking }: Consent,
): Promise<{ agreedPrices: readonly (Price | undefined)[] } | { question: InputRequiredResult } | { refused: string }> {
  const { confirm } = asking;
  if (confirm === 'never') return { agreedPrices: [] };
  const terms = await Promise.all(sendings.map((sending) => termsOf(sending, asking)));
  const agreedPrices = terms.map(({ price }) => price);
  const asked = terms.filter(({ line }) => line !== undefined);
  if (asked.length === 0) return { agreedPrices };
  // a yes is one to the question as it was put: with another price it is another question
  const key = `consent-${digestOf(asked)}`;
  const answer = acceptedContent(
    context.mcpReq.inputResponses,
    key,
    fromJsonSchema<{ approve: boolean }>(answerSchema),
  );
  if (answer?.approve === true) return { agreedPrices };
  const said = context.mcpReq.inputResponses?.[key];
  if (said) return { refused: isCancel(said) ? NOBODY_ANSWERED : 'whoever was asked said no.' };
  if (!canBeAsked(server, context)) return { refused: unaskableText(confirm) };
  const lines = asked.map(({ line }) => line).join('\n');
  const elicitation = inputRequired.elicit({
    message: `May this be sent to ${asked.length === 1 ? 'this agent' : 'these agents'}?\n${lines}`,
    requestedSchema: answerSchema,
  });
  return { question: inputRequired({ inputRequests: { [key]: elicitation } }) };
}

interface Terms {
  /** What somebody must say yes to. */
  line?: string;
  /** The most it may be charged by, since nobody was asked about more; undefined where `maxCost` alone counts. */
  price?: Price;
}

async function termsOf(
  sending: Sending,
  { agent3, caller, confirm, memory }: Omit<Consent, 'server' | 'context'>,
): Promise<Terms> {
  const { message, metadata } = sending;
  const shown = message.slice(0, SHOWN_MESSAGE);
  const isBounded = metadata?.maxCost !== undefined;
  if (confirm === 'paid' && isBounded) return {};
  const askAlways = (line: string) => (confirm === 'always' ? { line } : {});
  const agentId = 'agentId' in sending ? sending.agentId : memory.agentOf(caller, sending.taskHandle);
  // a task begun elsewhere: nobody here knows what its agent charges
  if (agentId === undefined)
    return { ...askAlways(`in answer to its question: ${shown}`), ...(isBounded ? {} : { price: FREE }) };
  const agent = await agent3.select(agentId, caller).catch(unlessUnknown);
  if (!agent) return { price: FREE };
  const { name, price } = agent;
  if (!isPaid(price)) return { ...askAlways(`${name} (${agentId}): ${shown}`), price: FREE };
  return { line: `${name} (${agentId}), ${priceText(price)}: ${shown}`, price };
}

/** A call to nobody goes nowhere; its answer says so. */
function unlessUnknown(error: unknown): undefined {
  if (error instanceof Agent3Error && error.code === 'AGENT_UNKNOWN') return undefined;
  throw error;
}

/** The question was put away, or there was nobody to read it. That is no reason to go round it. */
const NOBODY_ANSWERED =
  'nobody answered whether it may be sent. Ask whoever you work for, before you call again or set maxCost.';

function isCancel(said: object): boolean {
  return 'action' in said && said.action === 'cancel';
}

function unaskableText(confirm: ConfirmCalls): string {
  return confirm === 'paid'
    ? 'the agent charges for its answer: say in metadata.maxCost (maxCost for a reply) how many US dollars it may be.'
    : 'every call must be approved here, and this client cannot ask anybody.';
}

function canBeAsked(server: McpServer, { mcpReq: { envelope } }: ServerContext): boolean {
  const sent = (envelope as Record<string, unknown> | undefined)?.[CLIENT_CAPABILITIES_META_KEY];
  const declared = sent ?? server.server.getClientCapabilities();
  return typeof declared === 'object' && declared !== null && 'elicitation' in declared;
}
