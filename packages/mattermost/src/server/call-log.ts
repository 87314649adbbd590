// What is written of a call: ids and numbers that are on the list, never texts, names or tokens.
import { randomUUID } from 'node:crypto';
import type { ServerContext } from '@modelcontextprotocol/server';
import { isMattermostError } from '../base/errors.ts';
import type { Log, LogFields } from '../base/log.ts';

const SHOWN = new Set([
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
]);

interface LoggedCall {
  tool: string;
  args: unknown;
  context: ServerContext;
}

export async function logged<Result>(
  log: Log,
  { tool, args, context }: LoggedCall,
  run: () => Promise<Result>,
): Promise<Result> {
  const call = { tool, request_id: requestIdOf(context) };
  const started = performance.now();
  const elapsed = () => ({ duration_ms: Math.round(performance.now() - started) });
  log.debug('tool_call_start', { ...call, ...shownOf(args) });
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

function shownOf(args: unknown): LogFields {
  const shown: LogFields = {};
  for (const [name, value] of Object.entries(args ?? {})) {
    const isPlain = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
    if (SHOWN.has(name) && isPlain) shown[name] = value;
  }
  return shown;
}

/** That of the client's own logs, as long as it is plain and short. */
function requestIdOf({ http }: ServerContext): string {
  const given = http?.req?.headers.get('x-request-id');
  return given && /^[\w.:-]{1,64}$/.test(given) ? given : randomUUID();
}
