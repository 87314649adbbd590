// The record of every call, without what was said; receipts that prove one; and what agents are like by it.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { type ExpressionBuilder, type Kysely, type SqlBool, sql, type Transaction, type UpdateObject } from 'kysely';
import type { CallErrorCode, CallRecord } from '../../base/types.ts';
import { nextLatency, standingOf, type TrackRecord, trackRecordColumns } from './ranking.ts';
import type { RegistrySchema } from './schema.ts';

/** A standing is only written when it is another: it is indexed. */
const MIN_CHANGE = 0.001;

/** Calls that never reached the agent, or were given up by the caller, say nothing about it. */
const notItsFault: readonly CallErrorCode[] = [
  'AGENT_UNKNOWN',
  'INPUT_INVALID',
  'REFUSED',
  'BUDGET',
  'RATE_LIMITED',
  'AUTH_MISSING',
  'ADDRESS_REFUSED',
  'TASK_UNKNOWN',
  'CANCELED',
];

/** Who gives an agent less time than this has not given it a chance. */
const FAIR_MS = 10_000;

export function tellsOfAgent(errorCode: string | null | undefined, responseTime: number): boolean {
  if (errorCode === 'TIMEOUT') return responseTime >= FAIR_MS;
  return !notItsFault.some((code) => code === errorCode);
}

/** The same, for rows of `agent3_calls`. */
export const rowTellsOfAgent = sql<SqlBool>`(error_code is null or (error_code not in (${sql.join(notItsFault)})
  and (error_code <> 'TIMEOUT' or response_time >= ${sql.lit(FAIR_MS)})))`;

/** Bound to one call, its agent and its caller; the key lives in the database that all hubs of it share. */
export class Receipts {
  readonly #key: string;

  constructor(key: string) {
    this.#key = key;
  }

  write(call: Pick<CallRecord, 'callId' | 'agentId' | 'caller'>): string {
    return `${Buffer.from(call.callId).toString('base64url')}.${this.#proof(call)}`;
  }

  /** The id of the call, if this is the receipt of one of this caller to this agent. */
  read(receipt: string, agentId: string, caller: string): string | undefined {
    const [encoded = '', proof = ''] = receipt.split('.');
    const callId = Buffer.from(encoded, 'base64url').toString('utf8');
    const expected = Buffer.from(this.#proof({ callId, agentId, caller }));
    const given = Buffer.from(proof);
    return given.length === expected.length && timingSafeEqual(given, expected) ? callId : undefined;
  }

  #proof({ callId, agentId, caller }: Pick<CallRecord, 'callId' | 'agentId' | 'caller'>): string {
    const call = JSON.stringify([callId, agentId, caller]);
    return createHmac('sha256', this.#key).update(call).digest('base64url');
  }
}

/** A call that is recorded again changes nothing. */
export async function recordCall(db: Kysely<RegistrySchema>, call: CallRecord, now: number): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    const { numInsertedOrUpdatedRows } = await transaction
      .insertInto('agent3_calls')
      .values({
        call_id: call.callId,
        agent_id: call.agentId,
        caller: call.caller,
        user_agent_id: call.userAgentId ?? null,
        started_at: Math.round(call.startedAt),
        response_time: call.responseTime,
        success: call.success ? 1 : 0,
        error_code: call.errorCode ?? null,
        status_code: call.statusCode ?? null,
        retry_count: call.retryCount,
        cost: call.cost ?? null,
        tokens_used: call.tokensUsed === undefined ? null : Math.round(call.tokensUsed),
        tokens_estimated: call.tokensEstimated ? 1 : null,
        state: call.state ?? null,
        request_digest: call.requestDigest,
        response_digest: call.responseDigest ?? null,
      })
      .onConflict((conflict) => conflict.column('call_id').doNothing())
      .executeTakeFirstOrThrow();
    if (numInsertedOrUpdatedRows === 0n || !tellsOfAgent(call.errorCode, call.responseTime)) return;
    await updateRecord(transaction, {
      agentId: call.agentId,
      now,
      change: ({ ref }) => ({
        calls: sql`${ref('calls')} + 1`,
        successes: sql`${ref('successes')} + ${call.success ? 1 : 0}`,
        latency: nextLatency(ref('latency'), call.responseTime),
      }),
    });
  });
}

type AgentUpdate = (
  expressions: ExpressionBuilder<RegistrySchema, 'agent3_agents'>,
) => UpdateObject<RegistrySchema, 'agent3_agents'>;

/** Changes what ranking goes by, and the standing with it. */
export async function updateRecord(
  transaction: Transaction<RegistrySchema>,
  { agentId, now, change }: { agentId: string; now: number; change: AgentUpdate },
): Promise<TrackRecord | undefined> {
  const row = await transaction
    .updateTable('agent3_agents')
    .set(change)
    .where('id', '=', agentId)
    .returning(['standing', ...trackRecordColumns])
    .executeTakeFirst();
  if (!row) return undefined;
  const standing = standingOf(row, now);
  if (Math.abs(standing - row.standing) > MIN_CHANGE)
    await transaction.updateTable('agent3_agents').set({ standing }).where('id', '=', agentId).execute();
  return row;
}
