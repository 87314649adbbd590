// A tool call as the model made it, and its result as the model will read it.

export interface ToolCall {
  id: string;
  name: string;
  arguments: Record<string, unknown>;
}

export interface ToolProgress {
  progress: number;
  total?: number;
  message?: string;
}

export type ToolContentPart =
  | { type: 'text'; text: string }
  | { type: 'file'; mediaType: string; data: { type: 'data'; data: string } };

export interface ToolResult {
  toolCallId: string;
  toolCallName: string;
  /** What the model will read; never empty. */
  toolResultContent: ToolContentPart[];
  isError?: boolean;
  /** Not part of the history: the unprocessed result, structured content, the error. */
  extra: Record<string, unknown>;
}
