// Converts an HTTP error response to a MattermostError that tells an agent what to do next.
import { isString } from '@pocket-agent/kit';
import { MattermostError } from '../base/errors.ts';
import { parseObject } from '../base/json.ts';

const MAX_MESSAGE_LENGTH = 500;

interface ErrorResponse {
  status: number;
  body: Buffer;
  location: string | undefined;
  retryAfterMs: number | undefined;
}

export function statusError({ status, body, location, retryAfterMs }: ErrorResponse): MattermostError {
  const { message, errorId } = readErrorBody(body);
  const suffix = `(status=${status}${errorId ? ` error_id=${errorId}` : ''})`;
  const describe = (title: string) => `${title}${message ? `: ${message}` : ''} ${suffix}`;
  const options = { status, errorId };
  if (status === 401) {
    const text = `${describe('Authentication failed')}. The token is invalid or expired: stop and ask for the configuration to be fixed.`;
    return new MattermostError('AUTHENTICATION_FAILED', text, options);
  }
  if (status === 404) {
    const text = `${describe('Resource not found')}. Check the id; get valid ids from resolve, list or search tools.`;
    return new MattermostError('NOT_FOUND', text, options);
  }
  if (status === 429) {
    const wait = retryAfterMs === undefined ? 'Wait a while' : `Wait ${Math.ceil(retryAfterMs / 1000)} seconds`;
    return new MattermostError('RATE_LIMITED', `Rate limit exceeded ${suffix}. ${wait}, then try again.`, options);
  }
  if (status === 501) {
    const text = `${describe('Client error')}. This feature is disabled on this Mattermost server. Do not retry; only an administrator can enable it.`;
    return new MattermostError('CLIENT_ERROR', text, options);
  }
  if (status >= 500) {
    return new MattermostError('SERVER_ERROR', `${describe('Server error')}. Try again after a while.`, options);
  }
  if (status >= 400)
    return new MattermostError('CLIENT_ERROR', `${describe('Client error')}. ${adviceFor(status)}`, options);
  const target = location === undefined ? 'elsewhere' : `to ${location.slice(0, 200)}`;
  const text = `Mattermost redirects ${target} ${suffix}: set MATTERMOST_URL to that address.`;
  return new MattermostError('ANSWER_INVALID', text, options);
}

function adviceFor(status: number): string {
  if (status === 403) {
    return 'Either this account lacks the permission or the id is wrong; many Mattermost servers report both in the same way. Use join_channel for a public channel; for other channels ask a member with the permission.';
  }
  if (status === 413) return 'The request is larger than this Mattermost server accepts.';
  return 'Change the arguments before you try again.';
}

/** Both are empty for a body that is not JSON: the page of a proxy does not help an agent. */
function readErrorBody(body: Buffer): { message: string; errorId: string | undefined } {
  const { message, id } = parseObject(body.toString('utf8')) ?? {};
  return {
    message: isString(message) ? oneLine(message) : '',
    errorId: isString(id) ? id.slice(0, 100) : undefined,
  };
}

function oneLine(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim().replace(/\.$/, '');
  return line.length > MAX_MESSAGE_LENGTH ? `${line.slice(0, MAX_MESSAGE_LENGTH)}…` : line;
}
