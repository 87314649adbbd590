// The runs of a served agent that wait for an answer of their client.
import type { CallToolResult, InputRequiredResult, ServerContext } from '@modelcontextprotocol/server';
import type { Approve } from '../access/approval.ts';
import { errorResult } from '../tools/tool-result.ts';
import { askedClient } from './asked-approval.ts';
import type { ConversationKey, Conversations } from './served-conversations.ts';
import { type CallOptions, isContinued, SuspendedCalls } from './suspended-calls.ts';

/** The conversation of a call. Only its owner may continue a run. */
export interface Caller extends ConversationKey {
  conversations: Conversations;
}

interface WaitingCaller extends Caller {
  /** The step of the client that made the call, if it names its steps. */
  step: unknown;
}

export interface ServedRunOptions extends Pick<CallOptions, 'signal' | 'context'> {
  approve: Approve;
}

type Begin = (options: ServedRunOptions) => Promise<CallToolResult>;

export class ServedRuns {
  readonly #calls = new SuspendedCalls<WaitingCaller, CallToolResult>();

  async start(caller: Caller, begin: Begin, context: ServerContext): Promise<CallToolResult | InputRequiredResult> {
    const step = stepOf(context);
    // a client that sends another message instead of an answer has abandoned its question
    if (context.mcpReq.envelope) this.#calls.drop((waiting) => isAbandoned(waiting, caller, step));
    const run = ({ ask, ...options }: CallOptions) => begin({ ...options, approve: askedClient(ask) });
    return this.#calls.start({ ...caller, step }, run, context);
  }

  /** Continues the run of a client that comes back with answers; undefined for a new request. */
  async resume(owner: string, context: ServerContext): Promise<CallToolResult | InputRequiredResult | undefined> {
    if (!isContinued(context)) return undefined;
    return (await this.#calls.resume(owner, context)) ?? errorResult('This run is unknown or expired; ask again.');
  }

  close(): void {
    this.#calls.drop();
  }
}

function stepOf({ mcpReq: { _meta: meta } }: ServerContext): unknown {
  return meta?.step_id;
}

/** Calls of one step are made in parallel: a new one does not mean that the client abandoned another. */
function isAbandoned(before: WaitingCaller, now: Caller, step: unknown): boolean {
  const isSame = before.conversations === now.conversations && before.owner === now.owner && before.id === now.id;
  return isSame && (step === undefined || before.step !== step);
}
