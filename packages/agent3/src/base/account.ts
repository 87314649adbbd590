// The account of an owner: what they have agreed to spend, what they spent, their tokens and their agents.
import { z } from 'zod';
import { answer, count } from './answer.ts';
import { callLogEntry } from './call-records.ts';

const dollars = z.number().min(0).max(1_000_000);

/** What an owner agrees to spend on paid agents, in US dollars. An absent limit does not limit. */
export const allowance = z.strictObject({
  perCall: dollars.optional().describe('US dollars; calls within it are made without a question'),
  perDay: dollars.optional().describe('US dollars per day (UTC), for all calls together'),
  perMonth: dollars.optional().describe('US dollars per calendar month (UTC), for all calls together'),
});
/** What an owner agrees to spend on paid agents, in US dollars; absent parts are not limited by the owner. */
export type Allowance = z.output<typeof allowance>;

const tokenInfo = answer({
  id: z.string(),
  name: z.string(),
  createdAt: z.string(),
  expiresAt: z.string(),
});
/** A named token of an owner, without the token itself. */
export type TokenInfo = z.output<typeof tokenInfo>;

const ownAgent = answer({
  id: z.string(),
  name: z.string(),
  proof: z.string().optional(),
  hidden: z.string().optional(),
  /** The kinds of registered credentials, and the hosts they are sent to. */
  credentials: z.array(answer({ type: z.string(), scheme: z.string().optional(), host: z.string().optional() })),
});

export const account = answer({
  owner: z.string(),
  isAdmin: z.boolean(),
  limits: allowance,
  /** US dollars reserved or spent; counted only while a limit applies. */
  spent: answer({ today: z.number(), thisMonth: z.number() }),
  tokens: z.array(tokenInfo),
  /** At most 200, newest first. */
  agents: z.array(ownAgent),
});
/** The account of one owner. */
export type Account = z.output<typeof account>;

/** Which month, for example 2026-11. Default: the current one (UTC). */
export const statementRequest = z.strictObject({
  month: z
    .string()
    .regex(/^\d{4}-(0[1-9]|1[0-2])$/, { error: 'must be a month such as 2026-11' })
    .optional(),
});
/** Which month a statement is for. */
export type StatementQuery = z.output<typeof statementRequest>;

const sum = { calls: count, cost: z.number() };

export const statement = answer({
  owner: z.string(),
  month: z.string(),
  currency: z.literal('USD'),
  ...sum,
  /** Highest cost first. */
  agents: z.array(answer({ agentId: z.string(), name: z.string(), ...sum })),
  /** Days (UTC) with a paid call. */
  days: z.array(answer({ day: z.string(), ...sum })),
  /** Paid calls with their receipts, newest first; at most 1,000. */
  receipts: z.array(callLogEntry),
});
/** The paid calls of one owner in one month. */
export type Statement = z.output<typeof statement>;

export const tokenRequest = z.strictObject({
  name: z.string().trim().min(1).max(100).describe('What the token is for'),
  days: z.int().min(1).max(3_650).default(365).describe('How long it is valid'),
});
/** The name and lifetime of a new token. */
export type TokenRequest = z.output<typeof tokenRequest>;

export const newToken = answer({ ...tokenInfo.shape, token: z.string().describe('Shown only once') });
