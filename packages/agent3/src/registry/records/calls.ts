// Records calls (without their content), issues receipts for them and updates the track record of agents.
import { createHmac } from 'node:crypto';
import { isSameSecret } from '@pocket-agent/kit';
import { type ExpressionBuilder, type Kysely, type SqlBool, sql, type Transaction, type UpdateObject } from 'kysely';
import type { CallRecord } from '../../base/call-records.ts';
import type { CallErrorCode } from '../../base/calls.ts';
import { nextLatency, standingOf, type TrackRecord, trackRecordColumns } from './ranking.ts';
import type { RegistrySchema } from './schema.ts';

/** Smaller changes of the standing are not written, because the column is indexed. */
const MIN_CHANGE = 0.001;

/** Errors of calls that never reached the agent or that the caller canceled. They do not count against the agent. */
const notAgentsFault: readonly CallErrorCode[] = [
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

/** A timeout after less time than this does not count against the agent. */
const MIN_FAIR_TIMEOUT_MS = 10_000;

/** Whether the outcome of a call says something about the agent. */
export function countsForAgent(errorCode: string | null | undefined, responseTime: number): boolean {
  if (errorCode === 'TIMEOUT') return responseTime >= MIN_FAIR_TIMEOUT_MS;
  return !notAgentsFault.some((code) => code === errorCode);
}

/** The same condition in SQL, for rows of `agent3_calls`. */
export const rowCountsForAgent = sql<SqlBool>`(error_code is null or (error_code not in (${sql.join(notAgentsFault)})
  and (error_code <> 'TIMEOUT' or response_time >= ${sql.lit(MIN_FAIR_TIMEOUT_MS)})))`;

/** Proof of a call, bound to its agent and caller. The key is in the database, so all of its hubs accept it. */
export class Receipts {
  readonly #key: string;

  constructor(key: string) {
    this.#key = key;
  }

  write(call: Pick<CallRecord, 'callId' | 'agentId' | 'caller'>): string {
    return `${Buffer.from(call.callId).toString('base64url')}.${this.#proof(call)}`;
  }

  /** The id that a receipt states; `read` checks it. */
  static callIdIn(receipt: string): string {
    return Buffer.from(receipt.split('.')[0] ?? '', 'base64url').toString('utf8');
  }

  /** The id of the call; undefined if the receipt is not for a call of this caller to this agent. */
  read(receipt: string, agentId: string, caller: string): string | undefined {
    const [, proof = ''] = receipt.split('.');
    const callId = Receipts.callIdIn(receipt);
    return isSameSecret(proof, this.#proof({ callId, agentId, caller })) ? callId : undefined;
  }

  #proof({ callId, agentId, caller }: Pick<CallRecord, 'callId' | 'agentId' | 'caller'>): string {
    const call = JSON.stringify([callId, agentId, caller]);
    return createHmac('sha256', this.#key).update(call).digest('base64url');
  }
}

/** Recording a call twice has no effect. */
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
    if (numInsertedOrUpdatedRows === 0n || !countsForAgent(call.errorCode, call.responseTime)) return;
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

/** Changes the track record of an agent and updates its standing. */
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
