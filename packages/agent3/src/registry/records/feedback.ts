// Ratings: each needs the receipt of a call, and each call can be rated once. ranking.ts defines their weight.
import { type Kysely, sql, type Transaction } from 'kysely';
import type { Caller } from '../../base/agent3.ts';
import { Agent3Error } from '../../base/agent3-error.ts';
import type { Review } from '../../base/agents.ts';
import type { Feedback, FeedbackResult } from '../../base/call-records.ts';
import { checkInput } from '../../base/check-input.ts';
import { cleanExcerpt, cleanLine } from '../../base/clean-text.ts';
import { ratedCall } from '../../base/requests.ts';
import { countsForAgent, type Receipts, rowCountsForAgent, updateRecord } from './calls.ts';
import { ageWeight, raterWeight, reputationOf } from './ranking.ts';
import type { RegistrySchema } from './schema.ts';

const MAX_TEXT_LENGTH = 2_000;
const MAX_NAME_LENGTH = 200;
const RECENT_REVIEWS = 20;

type Database = Kysely<RegistrySchema>;

interface RatingContext {
  caller: Caller;
  receipts: Receipts;
  now: number;
}

/** A rating whose weight is not known yet. */
interface Rating {
  callId: string;
  agentId: string;
  rating: number;
  text: string;
  rater: Rater;
  now: number;
}

export async function addFeedback(db: Database, input: Feedback, context: RatingContext): Promise<FeedbackResult> {
  const { agentId, rating, feedback, receipt, userAgentId: statedId } = checkInput(ratedCall, input);
  const { caller, receipts, now } = context;
  const callId = receipts.read(receipt, agentId, caller.id);
  if (callId === undefined) throw invalidReceipt('is not for one of your calls to this agent');
  return db.transaction().execute(async (transaction) => {
    const userAgentId = raterOf(await userAgentOfCall(transaction, callId), statedId);
    const text = cleanExcerpt(feedback, MAX_TEXT_LENGTH);
    const entry = { callId, agentId, rating, text, rater: { caller, userAgentId }, now };
    await lockAgent(transaction, agentId);
    return addRating(transaction, entry);
  });
}

/** The agent that made the call, if the call named it. Throws if the call cannot be rated. */
async function userAgentOfCall(db: Database, callId: string): Promise<string | null> {
  const call = await db
    .selectFrom('agent3_calls')
    .select(['error_code', 'response_time', 'user_agent_id'])
    .where('call_id', '=', callId)
    .executeTakeFirst();
  if (!call) throw invalidReceipt('is for a call that is no longer in the log');
  if (!countsForAgent(call.error_code, call.response_time))
    throw invalidReceipt('is for a call that never reached the agent or had too short a timeout');
  return call.user_agent_id;
}

async function addRating(db: Transaction<RegistrySchema>, entry: Rating): Promise<FeedbackResult> {
  const { agentId, rating, rater, now } = entry;
  const counts = (await isOwn(db, rater, agentId)) ? 0 : 1;
  const weight = counts * ageWeight(now) * raterWeight(await recordOfRater(db, rater, agentId));
  await insertRating(db, entry, counts);
  const rated = await updateRecord(db, {
    agentId,
    now,
    change: ({ ref }) => ({
      rating_count: sql`${ref('rating_count')} + ${sql.lit(counts)}`,
      rating_sum: sql`${ref('rating_sum')} + cast(${weight * rating} as double precision)`,
      rating_weight: sql`${ref('rating_weight')} + cast(${weight} as double precision)`,
    }),
  });
  if (!rated)
    throw new Agent3Error('AGENT_UNKNOWN', `The agent "${cleanExcerpt(agentId, 100)}" is no longer registered`);
  const reputation = reputationOf(rated);
  return {
    success: true,
    timestamp: new Date(now).toISOString(),
    message: counts
      ? 'Thank you: your rating counts.'
      : 'Thank you. This is your own agent: only ratings by others count.',
    ...(reputation === undefined ? {} : { reputation }),
  };
}

async function insertRating(db: Database, entry: Rating, counts: 0 | 1): Promise<void> {
  const { callId, agentId, rating, text, rater, now } = entry;
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('agent3_feedback')
    .values({
      call_id: callId,
      agent_id: agentId,
      rater: rater.caller.id,
      user_agent_id: rater.userAgentId ?? null,
      rating,
      text,
      created_at: now,
      counts,
    })
    .onConflict((conflict) => conflict.column('call_id').doNothing())
    .executeTakeFirstOrThrow();
  if (numInsertedOrUpdatedRows === 0n)
    throw new Agent3Error('ALREADY_RATED', 'This call has already been rated; each call can be rated once');
}

function invalidReceipt(why: string): Agent3Error {
  return new Agent3Error('RECEIPT_INVALID', `The receipt ${why}; call the agent and use the receipt of that response`);
}

/** Locks the row until the transaction ends, so that concurrent ratings count each other. */
async function lockAgent(db: Database, agentId: string): Promise<void> {
  await db
    .updateTable('agent3_agents')
    .set(({ ref }) => ({ rating_count: ref('rating_count') }))
    .where('id', '=', agentId)
    .execute();
}

/** `userAgentId` is not verified, so it may lower the weight of a rating but never raise it. */
interface Rater {
  caller: Caller;
  userAgentId: string | undefined;
}

function raterOf(recordedId: string | null, statedId: string | undefined): string | undefined {
  const stated = statedId === undefined ? '' : cleanLine(statedId, MAX_NAME_LENGTH);
  if (recordedId !== null && stated !== '' && stated !== recordedId)
    throw new Agent3Error(
      'INPUT_INVALID',
      'userAgentId: the call was made with another id; omit it, or use the id of the call',
    );
  return recordedId ?? (stated === '' ? undefined : stated);
}

/** The experience of a named agent consists of its own calls; without a name, all calls of the caller count. */
async function recordOfRater(
  db: Database,
  { caller, userAgentId }: Rater,
  agentId: string,
): Promise<Parameters<typeof raterWeight>[0]> {
  const { id: rater } = caller;
  let calls = db.selectFrom('agent3_calls').where('caller', '=', rater);
  if (userAgentId !== undefined) calls = calls.where('user_agent_id', '=', userAgentId);
  const called = await calls.select('agent_id').distinct().where(rowCountsForAgent).limit(4).execute();
  const before = await db
    .selectFrom('agent3_feedback')
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .where('agent_id', '=', agentId)
    .where('rater', '=', rater)
    .executeTakeFirstOrThrow();
  return { agentsCalled: called.length, ratingsBefore: before.total };
}

/** Whether the caller rates their own agent, or an agent rates itself or another agent of its owner. */
async function isOwn(db: Database, { caller: { id, isLocal }, userAgentId }: Rater, agentId: string): Promise<boolean> {
  if (userAgentId === agentId) return true;
  const owner = await ownerOf(db, agentId);
  const isRelated = owner === id || (userAgentId !== undefined && (await ownerOf(db, userAgentId)) === owner);
  return isRelated && !(isLocal && (await isOnlyUser(db, id)));
}

async function ownerOf(db: Database, agentId: string): Promise<string | undefined> {
  const agent = await db.selectFrom('agent3_agents').select('owner').where('id', '=', agentId).executeTakeFirst();
  return agent?.owner;
}

async function isOnlyUser(db: Database, id: string): Promise<boolean> {
  const owner = db.selectFrom('agent3_agents').select('id').where('owner', '<>', id).limit(1);
  // `<` or `>` instead of `<>`, so that the index is used
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
    rater: cleanExcerpt(rater, 100),
    ...(user_agent_id === null ? {} : { userAgentId: user_agent_id }),
    rating,
    feedback: text,
    timestamp: new Date(created_at).toISOString(),
  }));
}
