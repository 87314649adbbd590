// Ratings: only with the receipt of a real call, one for each, weighted as ranking.ts says.
import { type Kysely, sql } from 'kysely';
import { Agent3Error } from '../../base/agent3-error.ts';
import { inputChecked } from '../../base/check-input.ts';
import { cleanLine } from '../../base/clean-text.ts';
import { ratedCall } from '../../base/requests.ts';
import type { Caller, Feedback, FeedbackResult, Review } from '../../base/types.ts';
import { cleanText } from '../../cards/card-text.ts';
import { type Receipts, rowTellsOfAgent, tellsOfAgent, updateRecord } from './calls.ts';
import { ageWeight, raterWeight, reputationOf } from './ranking.ts';
import type { RegistrySchema } from './schema.ts';

const MAX_TEXT_LENGTH = 2_000;
const MAX_NAME_LENGTH = 200;
const RECENT_REVIEWS = 20;

type Database = Kysely<RegistrySchema>;

export async function giveFeedback(
  db: Database,
  given: Feedback,
  context: { caller: Caller; receipts: Receipts; now: number },
): Promise<FeedbackResult> {
  const { agentId, rating, feedback, receipt, userAgentId: named } = inputChecked(ratedCall, given);
  const { caller, receipts, now } = context;
  const callId = receipts.read(receipt, agentId, caller.id);
  if (callId === undefined) throw invalidReceipt('is not that of a call of yours to this agent');
  return db.transaction().execute(async (transaction) => {
    const call = await transaction
      .selectFrom('agent3_calls')
      .select(['error_code', 'response_time', 'user_agent_id'])
      .where('call_id', '=', callId)
      .executeTakeFirst();
    if (!call) throw invalidReceipt('is of a call too long ago');
    if (!tellsOfAgent(call.error_code, call.response_time))
      throw invalidReceipt('is of a call that never reached the agent, or gave it no time');
    const userAgentId = raterOf(call.user_agent_id, named);
    await holdAgent(transaction, agentId);
    const rater = { caller, userAgentId };
    const counts = (await isOwn(transaction, rater, agentId)) ? 0 : 1;
    const raterRecord = await recordOfRater(transaction, rater, agentId);
    const { numInsertedOrUpdatedRows } = await transaction
      .insertInto('agent3_feedback')
      .values({
        call_id: callId,
        agent_id: agentId,
        rater: caller.id,
        user_agent_id: userAgentId ?? null,
        rating,
        text: cleanText(feedback, MAX_TEXT_LENGTH),
        created_at: now,
        counts,
      })
      .onConflict((conflict) => conflict.column('call_id').doNothing())
      .executeTakeFirstOrThrow();
    if (numInsertedOrUpdatedRows === 0n)
      throw new Agent3Error('ALREADY_RATED', 'This call has been rated; every call can be rated once');
    const weight = counts * ageWeight(now) * raterWeight(raterRecord);
    const rated = await updateRecord(transaction, {
      agentId,
      now,
      change: ({ ref }) => ({
        rating_count: sql`${ref('rating_count')} + ${sql.lit(counts)}`,
        rating_sum: sql`${ref('rating_sum')} + cast(${weight * rating} as double precision)`,
        rating_weight: sql`${ref('rating_weight')} + cast(${weight} as double precision)`,
      }),
    });
    if (!rated) throw new Agent3Error('AGENT_UNKNOWN', `There is no agent "${cleanText(agentId, 100)}" any more`);
    const reputation = reputationOf(rated);
    return {
      success: true,
      timestamp: new Date(now).toISOString(),
      message: counts
        ? 'Thank you: your rating counts.'
        : 'Thank you. It is your own agent: only what others say counts.',
      ...(reputation === undefined ? {} : { reputation }),
    };
  });
}

function invalidReceipt(why: string): Agent3Error {
  return new Agent3Error('RECEIPT_INVALID', `The receipt ${why}; call the agent and give the receipt of that answer`);
}

/** Until the transaction ends, so that of ratings at the same moment each counts those before it. */
async function holdAgent(db: Database, agentId: string): Promise<void> {
  await db
    .updateTable('agent3_agents')
    .set(({ ref }) => ({ rating_count: ref('rating_count') }))
    .where('id', '=', agentId)
    .execute();
}

/** One of the caller's agents, as they say; so it may lower the weight of a rating, never raise it. */
interface Rater {
  caller: Caller;
  userAgentId: string | undefined;
}

function raterOf(called: string | null, named: string | undefined): string | undefined {
  const given = named === undefined ? '' : cleanLine(named, MAX_NAME_LENGTH);
  if (called !== null && given !== '' && given !== called)
    throw new Agent3Error(
      'INPUT_INVALID',
      'userAgentId: the call was made with another one; leave it out, or give that',
    );
  return called ?? (given === '' ? undefined : given);
}

/** An agent has the experience of its own calls; without one named, the caller has that of all its calls. */
async function recordOfRater(
  db: Database,
  { caller, userAgentId }: Rater,
  agentId: string,
): Promise<Parameters<typeof raterWeight>[0]> {
  const { id: rater } = caller;
  let calls = db.selectFrom('agent3_calls').where('caller', '=', rater);
  if (userAgentId !== undefined) calls = calls.where('user_agent_id', '=', userAgentId);
  const called = await calls
    .select('agent_id')
    .distinct()
    .where(rowTellsOfAgent) // a call that came to nobody teaches nothing
    .limit(4)
    .execute();
  const before = await db
    .selectFrom('agent3_feedback')
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .where('agent_id', '=', agentId)
    .where('rater', '=', rater)
    .executeTakeFirstOrThrow();
  return { agentsCalled: called.length, ratingsBefore: before.total };
}

/** Their own agent, which others could rate; or an agent that rates itself or another one of its owner. */
async function isOwn(db: Database, { caller: { id, isLocal }, userAgentId }: Rater, agentId: string): Promise<boolean> {
  if (userAgentId === agentId) return true;
  const owner = await ownerOf(db, agentId);
  const isRelated = owner === id || (userAgentId !== undefined && (await ownerOf(db, userAgentId)) === owner);
  return isRelated && !(isLocal && (await isAlone(db, id)));
}

async function ownerOf(db: Database, agentId: string): Promise<string | undefined> {
  const agent = await db.selectFrom('agent3_agents').select('owner').where('id', '=', agentId).executeTakeFirst();
  return agent?.owner;
}

async function isAlone(db: Database, id: string): Promise<boolean> {
  const owner = db.selectFrom('agent3_agents').select('id').where('owner', '<>', id).limit(1);
  // both sides of the id, since an index finds nothing by what is not
  const caller = db
    .selectFrom('agent3_calls')
    .select('call_id')
    .where(({ or, eb }) => or([eb('caller', '<', id), eb('caller', '>', id)]))
    .limit(1);
  return !(await owner.executeTakeFirst()) && !(await caller.executeTakeFirst());
}

export async function recentReviews(db: Database, agentId: string): Promise<Review[]> {
  const rows = await db
    .selectFrom('agent3_feedback')
    .select(['rater', 'user_agent_id', 'rating', 'text', 'created_at'])
    .where('agent_id', '=', agentId)
    .where('counts', '=', 1)
    .orderBy('created_at', 'desc')
    .limit(RECENT_REVIEWS)
    .execute();
  return rows.map(({ rater, user_agent_id, rating, text, created_at }) => ({
    rater: cleanText(rater, 100),
    ...(user_agent_id === null ? {} : { userAgentId: user_agent_id }),
    rating,
    feedback: text,
    timestamp: new Date(created_at).toISOString(),
  }));
}
