// Logs tool calls with listed ids and numbers, never with message texts, names or tokens.
import { randomUUID } from 'node:crypto';
import type { ServerContext } from '@modelcontextprotocol/server';
import { isMattermostError } from '../base/errors.ts';
import type { Log, LogFields } from '../base/log.ts';

const LOGGED_ARGUMENTS = new Set([
  'team_id',
  'channel_id',
  'user_id',
  'post_id',
  'file_id',
  'bookmark_id',
  'root_id',
  'page',
  'per_page',
  'is_or_search',
  'unread_only',
  'bookmarks_since',
  'new_sort_order',
  'bookmark_type',
  'scheduled_id',
  'group_id',
]);

interface LoggedCall {
  tool: string;
  args: unknown;
  context: ServerContext;
}

export async function logToolCall<Result>(
  log: Log,
  { tool, args, context }: LoggedCall,
  run: () => Promise<Result>,
): Promise<Result> {
  const call = { tool, request_id: requestIdOf(context) };
  const started = performance.now();
  const elapsed = () => ({ duration_ms: Math.round(performance.now() - started) });
  log.debug('tool_call_start', { ...call, ...loggableArguments(args) });
  try {
    const result = await run();
    log.info('tool_call_success', { ...call, ...elapsed() });
    return result;
  } catch (error) {
    const facts = isMattermostError(error)
      ? { error: error.code, status: error.status, error_id: error.errorId }
      : { error: error instanceof Error ? error.name : 'unknown' };
    log.warning('tool_call_error', { ...call, ...facts, ...elapsed() });
    throw error;
  }
}

function loggableArguments(args: unknown): LogFields {
  const fields: LogFields = {};
  for (const [name, value] of Object.entries(args ?? {})) {
    const isPlain = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
    if (LOGGED_ARGUMENTS.has(name) && isPlain) fields[name] = value;
  }
  return fields;
}

/** The request id of the client, if it is short and plain, so that both logs can be matched. */
function requestIdOf({ http }: ServerContext): string {
  const requestId = http?.req?.headers.get('x-request-id');
  return requestId && /^[\w.:-]{1,64}$/.test(requestId) ? requestId : randomUUID();
}
