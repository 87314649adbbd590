// A tool call as the model made it, and its result as the model will read it.
import { PocketError } from '@pocket-agent/kit';

/** A call that the model asks for. */
export interface ToolCall {
  id: string;
  name: string;
  arguments: Record<string, unknown>;
}

/** How far a running call is, in units of the tool. */
export interface ToolProgress {
  progress: number;
  total?: number;
  message?: string;
}

/** One part of a result that the model reads; files are in base64. */
export type ToolContentPart =
  | { type: 'text'; text: string }
  | { type: 'file'; mediaType: string; data: { type: 'data'; data: string } };

/** The answer to one tool call, also after an error or a denial. */
export interface ToolResult {
  toolCallId: string;
  toolCallName: string;
  /** The content for the model; never empty. */
  toolResultContent: ToolContentPart[];
  isError?: boolean;
  /** Not part of the history: the unprocessed result, structured content, the error. */
  extra: Record<string, unknown>;
}

/** The results of the calls of one step. */
export interface CallResults {
  /** In the order of the calls. */
  results: ToolResult[];
  /** Why the run ends, after the results are in the history. Undefined if it goes on. */
  runError: unknown;
  /** Set if a call is suspended. It has no result yet; the results of the others are in the journal. */
  suspended?: PocketError | undefined;
}

export const CHECK_BEFORE_RETRY = 'It may or may not have taken effect; check before you try again.';

/** The error of a call that was cut off. `what` happened, without a full stop. */
export function outcomeUnknown(what: string, cause?: unknown): PocketError {
  const options = cause === undefined ? {} : { cause };
  return new PocketError('TOOL_OUTCOME_UNKNOWN', `${what}. ${CHECK_BEFORE_RETRY}`, options);
}
