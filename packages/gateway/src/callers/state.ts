// What all processes of a gateway share: callers with the hashes of their tokens, counts, and questions for approvers.
import { configError, isRecord } from '@pocket-agent/kit';
import type { ApprovalAnswer } from 'pocket-agent';
import { type CallerSettings, checkSettings } from './caller.ts';

/** A caller with a token in the state of the gateway. */
export interface KnownCaller {
  name: string;
  settings: CallerSettings;
  createdAt: Date;
}

/** Something that is counted for one caller in one period. */
export interface Count {
  caller: string;
  /** Such as `day 20000`. */
  period: string;
  /** When it may be deleted. */
  endsAt: number;
  /** A whole number; negative to undo an earlier count. */
  amount: number;
}

/** A call that waits for the approval of a person. */
export interface OpenQuestion {
  id: string;
  caller: string;
  tool: string;
  /** The server that the tool is from. */
  server?: string;
  capability: string;
  description?: string;
  arguments: Record<string, unknown>;
  /** Whether the definition of the tool has changed since the caller first saw it. */
  changed: boolean;
  /** Hash of caller, tool and arguments. */
  hash: string;
  /** Milliseconds since 1970. */
  askedAt: number;
  expiresAt: number;
}

/** What a person has decided. */
export interface GivenAnswer {
  answer: Exclude<ApprovalAnswer, string>;
  /** The person who answered, for the log. */
  by: string;
}

/** The callers of a gateway and what they have used. Any number of processes may open the same state. */
export interface GatewayState {
  /** Returns the token, which is not kept. */
  addCaller(name: string, settings: CallerSettings): Promise<string>;
  callers(): Promise<KnownCaller[]>;
  /** Also removes the logins of a caller of an issuer (`oauth:SUBJECT`). False if there is no such caller. */
  removeCaller(name: string): Promise<boolean>;
  /** Undefined for a token that is unknown or revoked. */
  callerWith(token: string): Promise<KnownCaller | undefined>;
  /** Adds to a count, and returns the sum. */
  count(count: Count): Promise<number>;
  ask(question: OpenQuestion): Promise<void>;
  /** Questions without an answer, the oldest first. */
  questions(): Promise<OpenQuestion[]>;
  /** The first answer counts. False if the question is not open. */
  answer(id: string, given: GivenAnswer): Promise<boolean>;
  /** The answers to these questions that were given so far. */
  answers(ids: readonly string[]): Promise<Map<string, GivenAnswer>>;
  withdraw(id: string): Promise<void>;
  /** Takes a question out of the state, with its answer if it has one. Undefined if another process did, or it has expired. */
  take(id: string): Promise<{ given?: GivenAnswer } | undefined>;
  /** All questions that have not expired, the oldest first, also those with an answer. */
  asked(): Promise<OpenQuestion[]>;
  /** The callers and servers of all logins that are kept, also of those in progress. */
  logins(): Promise<LoginKey[]>;
  /** The login of a caller at a server, encrypted. */
  login(of: LoginKey): Promise<string | undefined>;
  /**
   * Undefined removes it. `removeCaller` removes all of a caller. Changes nothing if it is not `replaces` any more, or the
   * caller had a token and was removed.
   */
  saveLogin(of: LoginKey, login: string | undefined, replaces?: string): Promise<void>;
  close(): Promise<void>;
}

/** Which login: `server` has the name and the address. */
export interface LoginKey {
  caller: string;
  server: string;
}

export function readSettings(text: string): CallerSettings {
  const value: unknown = JSON.parse(text);
  checkSettings(value);
  return value;
}

export function alreadyThere(name: string): Error {
  return configError(`There is a caller "${name}" already: revoke it first.`);
}

/** Only what `answer` has written is read. */
export function readAnswer(text: string): GivenAnswer {
  const value: unknown = JSON.parse(text);
  if (!isRecord(value)) throw new Error('The answer to a question is not an object.');
  return value as unknown as GivenAnswer;
}
