// Tasks of MCP: the extension of the 2026 protocol. The SDK passes its requests and results through, but has no types for them.
import {
  type CallToolResult,
  fromJsonSchema,
  type InputRequest,
  type JsonSchemaType,
} from '@modelcontextprotocol/server';
import { isRecord } from '@pocket-agent/kit';

export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

/** A task in the form of the protocol. */
export interface WireTask {
  taskId: string;
  status: 'working' | 'input_required' | 'completed' | 'cancelled';
  statusMessage?: string;
  createdAt: string;
  lastUpdatedAt: string;
  /** null: it is kept until it is purged from the runs. */
  ttlMs: null;
  pollIntervalMs: number;
}

/** A task with its open questions, or with its result. */
export interface DetailedTask extends WireTask {
  inputRequests?: Record<string, InputRequest>;
  result?: CallToolResult & { resultType: 'complete' };
}

const taskId = { type: 'string', minLength: 1, maxLength: 100 };

export const taskParams = fromJsonSchema<{ taskId: string }>({
  type: 'object',
  properties: { taskId },
  required: ['taskId'],
} as JsonSchemaType);

/** Whether a client with these capabilities can wait for a task. */
export function takesTasks({ extensions }: Record<string, unknown>): boolean {
  return isRecord(extensions) && isRecord(extensions[TASKS_EXTENSION]);
}
