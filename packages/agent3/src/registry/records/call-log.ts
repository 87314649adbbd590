// The call log, newest first: callers see their own calls, admins see all calls.
import type { Kysely } from 'kysely';
import type { Caller } from '../../base/agent3.ts';
import { Agent3Error } from '../../base/agent3-error.ts';
import type { CallLog, CallLogEntry, CallLogQuery } from '../../base/call-records.ts';
import type { CallErrorCode, TaskStateName } from '../../base/calls.ts';
import { canBeKey, checkInput } from '../../base/check-input.ts';
import { callLogRequest } from '../../base/requests.ts';
import { Receipts } from './calls.ts';
import type { CallTable, RegistrySchema } from './schema.ts';

export async function readCallLog(
  db: Kysely<RegistrySchema>,
  query: CallLogQuery,
  { reader, receipts }: { reader: Caller; receipts: Receipts },
): Promise<CallLog> {
  const { agentId, userAgentId, caller, limit, cursor } = checkInput(callLogRequest, query);
  const owner = caller ?? (reader.isAdmin ? undefined : reader.id);
  if (owner !== undefined && owner !== reader.id && !reader.isAdmin)
    throw new Agent3Error('FORBIDDEN', 'Only an admin may read the calls of other owners');
  const before = cursor === undefined ? undefined : readCursor(cursor);
  const filters = { agent_id: agentId, user_agent_id: userAgentId, caller: owner };
  const conditions = Object.entries(filters).flatMap(([column, value]) =>
    value === undefined ? [] : [{ column: column as keyof typeof filters, value }],
  );
  if (!conditions.every(({ value }) => canBeKey(value))) return { calls: [] };
  let rows = db
    .selectFrom('agent3_calls')
    .leftJoin('agent3_agents', 'agent3_agents.id', 'agent3_calls.agent_id')
    .selectAll('agent3_calls')
    .select('agent3_agents.name')
    .orderBy('started_at', 'desc')
    .orderBy('call_id', 'desc')
    .limit(limit + 1);
  for (const { column, value } of conditions) rows = rows.where(`agent3_calls.${column}`, '=', value);
  if (before)
    rows = rows.where(({ or, and, eb }) =>
      or([
        eb('started_at', '<', before.startedAt),
        and([eb('started_at', '=', before.startedAt), eb('call_id', '<', before.callId)]),
      ]),
    );
  const found = await rows.execute();
  const last = found[limit - 1];
  return {
    calls: found.slice(0, limit).map((row) => entryOf(row, row.caller === reader.id ? receipts : undefined)),
    ...(found.length > limit && last ? { nextCursor: `${last.started_at}.${last.call_id}` } : {}),
  };
}

/** The call that a receipt proves, for its caller, the owner of the agent and admins. */
export async function callOfReceipt(
  db: Kysely<RegistrySchema>,
  receipt: string,
  { reader, receipts }: { reader: Caller; receipts: Receipts },
): Promise<CallLogEntry> {
  const callId = Receipts.callIdIn(receipt);
  const row = canBeKey(callId)
    ? await db
        .selectFrom('agent3_calls')
        .leftJoin('agent3_agents', 'agent3_agents.id', 'agent3_calls.agent_id')
        .selectAll('agent3_calls')
        .select(['agent3_agents.name', 'agent3_agents.owner'])
        .where('call_id', '=', callId)
        .executeTakeFirst()
    : undefined;
  const mayRead = row !== undefined && (reader.isAdmin || [row.caller, row.owner].includes(reader.id));
  if (!mayRead || receipts.read(receipt, row.agent_id, row.caller) === undefined)
    throw new Agent3Error(
      'RECEIPT_INVALID',
      'The receipt is for no call of yours and no call to your agents that is still in the log',
    );
  return entryOf(row, receipts);
}

/** With the receipt if `receipts` are given. */
export function entryOf(row: CallTable & { name: string | null }, receipts?: Receipts): CallLogEntry {
  const { call_id: callId, agent_id: agentId, caller } = row;
  return {
    ...(receipts ? { receipt: receipts.write({ callId, agentId, caller }) } : {}),
    callId: row.call_id,
    agentId: row.agent_id,
    ...(row.name === null ? {} : { agentName: row.name }),
    caller: row.caller,
    ...(row.user_agent_id === null ? {} : { userAgentId: row.user_agent_id }),
    startedAt: new Date(row.started_at).toISOString(),
    responseTime: row.response_time,
    success: row.success === 1,
    ...(row.error_code === null ? {} : { errorCode: row.error_code as CallErrorCode }),
    ...(row.status_code === null ? {} : { statusCode: row.status_code }),
    retryCount: row.retry_count,
    ...(row.cost === null ? {} : { cost: row.cost }),
    ...(row.tokens_used === null ? {} : { tokensUsed: row.tokens_used }),
    ...(row.tokens_estimated === 1 ? { tokensEstimated: true } : {}),
    ...(row.state === null ? {} : { state: row.state as TaskStateName }),
    requestDigest: row.request_digest,
    ...(row.response_digest === null ? {} : { responseDigest: row.response_digest }),
  };
}

function readCursor(cursor: string): { startedAt: number; callId: string } {
  const [, startedAt, callId] = /^(\d{1,15})\.(.+)$/.exec(cursor) ?? [];
  if (startedAt === undefined || callId === undefined || !canBeKey(callId))
    throw new Agent3Error(
      'INPUT_INVALID',
      'The cursor is not the nextCursor of a page of calls; start without a cursor',
    );
  return { startedAt: Number(startedAt), callId };
}
