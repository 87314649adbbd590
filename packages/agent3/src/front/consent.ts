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
import type { Agent3, Caller, CallRequest } from '../types.ts';
import type { CallMemory } from './call-memory.ts';

/** paid: calls that cost money, unless the request says how much they may. */
export type ConfirmCalls = 'never' | 'paid' | 'always';

const SHOWN_MESSAGE = 500;
const KEY = 'consent';

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

/** Undefined when the messages may go out; a question for the client; or the reason why they may not. */
export async function consentTo(
  sendings: readonly Sending[],
  { server, context, ...asking }: Consent,
): Promise<InputRequiredResult | { refused: string } | undefined> {
  const { confirm } = asking;
  if (confirm === 'never' || sendings.length === 0) return undefined;
  const asked = await Promise.all(sendings.map((sending) => questionFor(sending, asking)));
  const lines = asked.filter((line) => line !== undefined);
  if (lines.length === 0) return undefined;
  const answer = acceptedContent(
    context.mcpReq.inputResponses,
    KEY,
    fromJsonSchema<{ approve: boolean }>(answerSchema),
  );
  if (answer?.approve === true) return undefined;
  if (answer || context.mcpReq.inputResponses?.[KEY]) return { refused: 'whoever was asked said no.' };
  if (!canBeAsked(server, context)) return { refused: refusalText(confirm) };
  return inputRequired({
    inputRequests: {
      [KEY]: inputRequired.elicit({
        message: `May this be sent to ${lines.length === 1 ? 'this agent' : 'these agents'}?\n${lines.join('\n')}`,
        requestedSchema: answerSchema,
      }),
    },
  });
}

async function questionFor(
  sending: Sending,
  { agent3, caller, confirm, memory }: Omit<Consent, 'server' | 'context'>,
): Promise<string | undefined> {
  const { message, metadata } = sending;
  const shown = message.slice(0, SHOWN_MESSAGE);
  if (confirm === 'paid' && metadata?.maxCost !== undefined) return undefined;
  const agentId = 'agentId' in sending ? sending.agentId : memory.agentOf(caller, sending.taskHandle);
  if (agentId === undefined) return confirm === 'always' ? `in answer to its question: ${shown}` : undefined;
  const agent = await agent3.select(agentId, caller).catch(unlessUnknown);
  if (!agent) return undefined;
  const { name, price } = agent;
  if (!isPaid(price)) return confirm === 'always' ? `${name} (${agentId}): ${shown}` : undefined;
  return `${name} (${agentId}), ${priceText(price)}: ${shown}`;
}

/** A call to nobody goes nowhere; its answer says so. */
function unlessUnknown(error: unknown): undefined {
  if (error instanceof Agent3Error && error.code === 'AGENT_UNKNOWN') return undefined;
  throw error;
}

function refusalText(confirm: ConfirmCalls): string {
  return confirm === 'paid'
    ? 'the agent charges for its answer: say in metadata.maxCost (maxCost for a reply) how many US dollars it may be.'
    : 'every call must be approved here, and this client cannot ask anybody.';
}

function canBeAsked(server: McpServer, { mcpReq: { envelope } }: ServerContext): boolean {
  const sent = (envelope as Record<string, unknown> | undefined)?.[CLIENT_CAPABILITIES_META_KEY];
  const declared = sent ?? server.server.getClientCapabilities();
  return typeof declared === 'object' && declared !== null && 'elicitation' in declared;
}
