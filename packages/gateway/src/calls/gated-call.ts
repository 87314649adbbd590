// A tool call of a client. It passes the same gate as the calls of an agent: rules, approval, budget, audit.
import { randomUUID } from 'node:crypto';
import { ProtocolError as ServerAnswer } from '@modelcontextprotocol/client';
import { type CallToolResult, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { errorText, isPocketError, isPublicError, type Logger, PocketError, publicErrorText } from '@pocket-agent/kit';
import { returnedIn } from 'pocket-agent/internal';
import { type CallRecord, runToolCalls } from 'pocket-agent/internal/gate';
import { overLimit, type Prices, priceOf } from '../callers/limits.ts';
import type { GatewayState } from '../callers/state.ts';
import type { GatewayRequest } from './request.ts';

interface GatedCall {
  name: string;
  args: Record<string, unknown>;
  /** Counts the calls of callers with limits. */
  state: GatewayState | undefined;
  prices: Prices;
  logger: Logger;
  metrics: { called(server: string, record: CallRecord): void };
}

const settings = { allowImages: true, maxToolResultBytes: 1_000_000, maxParallelToolCalls: 16 };

/** Counts a read. Throws if the caller has reached a limit. */
export async function countCall({ space }: GatewayRequest, state: GatewayState | undefined): Promise<void> {
  const reason = state && (await overLimit(space.caller, { state, price: 0 }));
  if (reason !== undefined) throw new PocketError('ACCESS_DENIED', `This was not read: ${reason}.`);
}

export async function gatedCall(
  request: GatewayRequest,
  { name, args, state, prices, logger, metrics }: GatedCall,
): Promise<CallToolResult> {
  const { space, run: context } = request;
  const { policy } = context;
  // a server that has come back may have the tool
  const known = await space.tools(context, false);
  const all = known.find(name) ? known : await space.tools(context, true);
  const visible = all.visibleTo(policy);
  let record: CallRecord | undefined;
  const call = { id: randomUUID(), name, arguments: args };
  request.callId = call.id;
  const { results, runError } = await runToolCalls(
    {
      context,
      hooks: {
        preToolCall: async (_context, { name: tool }) => {
          const reason = state && (await overLimit(space.caller, { state, price: priceOf(tool, prices) }));
          return reason === undefined ? undefined : { deny: reason };
        },
      },
      hookContext: undefined,
      settings,
      keepResult: async () => undefined,
      table: visible,
      hidden: space.hiddenIn(all, visible),
      reach: undefined,
      knownTable: () => space.known(),
      collectTools: () => space.collect(context.signal),
      metaOf: () => request.meta,
      audit: (made) => {
        if (made.call.id === call.id) record = made;
        metrics.called(all.find(made.call.name)?.source.name ?? 'unknown', made);
        if (policy.keepsRecords) policy.record(context.agent.agentId, made);
      },
      emit: (event) => {
        if (event.type === 'tool_progress') request.progress(event.data);
      },
    },
    [{ call }],
  );
  context.signal.throwIfAborted();
  const [result] = results;
  // the client gets it as the server sent it
  const returned = result && !result.isError ? (request.answer ?? returnedIn(result)) : undefined;
  if (returned) return withNote(returned, record);
  const error = runError ?? result?.extra.error;
  if (isPocketError(error, 'TOOL_UNKNOWN'))
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Tool "${name}" not found`);
  const own = result && returnedIn(result);
  if (own) return own;
  if (error instanceof ServerAnswer) throw new ProtocolError(error.code, error.message, error.data);
  if (!isPublicError(error)) logger.error(`Tool "${name}": ${errorText(error)}`);
  return { isError: true, content: [{ type: 'text', text: textFor(name, error) }] };
}

/** Errors of tools are for their callers; errors of connections may quote what callers must not know. */
function textFor(name: string, error: unknown): string {
  if (isPocketError(error, 'TOOL_FAILED') || isPocketError(error, 'TOOL_OUTCOME_UNKNOWN')) return errorText(error);
  return publicErrorText(error, `Tool "${name}"`);
}

function withNote(result: CallToolResult, record: CallRecord | undefined): CallToolResult {
  if (record?.decision !== 'edited') return result;
  const text = `[The approver changed the arguments of this call to ${JSON.stringify(record.call.arguments)}]`;
  return { ...result, content: [{ type: 'text', text }, ...result.content] };
}
