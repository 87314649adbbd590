// The events of a run: the rows of its journal. They are numbered, so that a reader can continue after any of them.
import type { ElicitRequest, ElicitResult } from '@modelcontextprotocol/client';
import type { ApprovalAnswer, JournaledInnerCall, Message, ToolCall, ToolMessage, UserInput } from 'pocket-agent';
import type { JournalTable } from './schema.ts';

interface RunEventData {
  started: { agent: string; caller?: string; input: string | UserInput };
  message: Message;
  /** All messages before it were removed; `messages` take their place. */
  reset: { messages?: Message[] };
  /** A call that is neither read-only nor idempotent begins. */
  intent: ToolCall;
  /** A call of a script: before it is made, unless it may be made twice, and with its outcome. */
  inner: JournaledInnerCall;
  /** The result of a call, while other calls of the step still run. The message of the step contains it again. */
  result: ToolMessage;
  question: Question;
  /** `by`: who answered, if `answer()` was told. */
  answer: { question: string; answer: QuestionAnswer; by?: string };
  finished: { answer: unknown };
  failed: { code: string; message: string };
  cancelled: Record<never, never>;
}

/** The kinds of events that the journal of a run keeps. */
export type RunEventType = keyof RunEventData;

/** `number` counts from 1 in each run. `subAgent`: whose event it is, if it is not the agent's of the run; names joined by `/`. */
export type RunEvent = {
  [Type in RunEventType]: { number: number; type: Type; data: RunEventData[Type]; time: string; subAgent?: string };
}[RunEventType];

/** An event before it is in the journal. */
export type NewEvent = {
  [Type in RunEventType]: { type: Type; data: RunEventData[Type] };
}[RunEventType];

/** The last event of a run that was not cancelled. */
export type EndEvent = Extract<NewEvent, { type: 'finished' | 'failed' }>;

/** What a person has to decide. Its id, and the hash of the call, tie the answer to this question. */
export interface Question {
  id: string;
  run: string;
  agent: string;
  caller?: string;
  kind: 'approval' | 'elicitation';
  /** Hash of path, tool and arguments, or of the server and what it asks. */
  hash: string;
  askedAt: string;
  /** If unanswered by then, it is denied or cancelled. */
  expiresAt?: string;
  /** The call that an approval is about. */
  call?: ApprovalCall;
  /** What the server of an elicitation asks. */
  request?: ElicitRequest['params'];
  /** The server of an elicitation. */
  server?: string;
}

/** A call that needs an approval. */
export interface ApprovalCall {
  tool: string;
  /** The MCP server or tool folder that the tool is from, if it has one. */
  server?: string;
  capability: string;
  description?: string;
  arguments: Record<string, unknown>;
  toolCallId: string;
  path: readonly string[];
  changed: boolean;
}

/** For an approval what `approve` may return, for an elicitation its MCP result. */
export type QuestionAnswer = Exclude<ApprovalAnswer, 'later'> | ElicitResult;

/** The last event of a run. */
export function isEnd({ type }: Pick<RunEvent, 'type'>): boolean {
  return type === 'finished' || type === 'failed' || type === 'cancelled';
}

export function eventOf({ number, type, json, at, sub_agent }: JournalTable): RunEvent {
  const subAgent = sub_agent === null ? {} : { subAgent: sub_agent };
  // written by `Journal`
  return { number, type, data: JSON.parse(json), time: new Date(at).toISOString(), ...subAgent } as RunEvent;
}
