// What an answer that is no success comes to: the classes of text that agents know, and what to do next.
import { MattermostError } from '../base/errors.ts';

const LONGEST_MESSAGE = 500;

interface Refusal {
  status: number;
  body: Buffer;
  location: string | undefined;
  retryAfterMs: number | undefined;
}

export function statusError({ status, body, location, retryAfterMs }: Refusal): MattermostError {
  const { message, errorId } = readRefusal(body);
  const suffix = `(status=${status}${errorId ? ` error_id=${errorId}` : ''})`;
  const said = (title: string) => `${title}${message ? `: ${message}` : ''} ${suffix}`;
  const options = { status, errorId };
  if (status === 401) {
    const text = `${said('Authentication failed')}. The token is invalid or expired: stop, and have the configuration fixed.`;
    return new MattermostError('AUTHENTICATION_FAILED', text, options);
  }
  if (status === 404) {
    const text = `${said('Resource not found')}. Check the id; resolve, list and search tools give right ones.`;
    return new MattermostError('NOT_FOUND', text, options);
  }
  if (status === 429) {
    const wait = retryAfterMs === undefined ? 'Wait a while' : `Wait ${Math.ceil(retryAfterMs / 1000)} seconds`;
    return new MattermostError('RATE_LIMITED', `Rate limit exceeded ${suffix}. ${wait}, then try again.`, options);
  }
  if (status === 501) {
    const text = `${said('Client error')}. This Mattermost has that turned off; trying again does not help, its administrator can.`;
    return new MattermostError('CLIENT_ERROR', text, options);
  }
  if (status >= 500) {
    return new MattermostError('SERVER_ERROR', `${said('Server error')}. Try again after a while.`, options);
  }
  if (status >= 400)
    return new MattermostError('CLIENT_ERROR', `${said('Client error')}. ${adviceFor(status)}`, options);
  const target = location === undefined ? 'elsewhere' : `to ${location.slice(0, 200)}`;
  const text = `Mattermost redirects ${target} ${suffix}: MATTERMOST_URL must be the address it really has.`;
  return new MattermostError('ANSWER_INVALID', text, options);
}

function adviceFor(status: number): string {
  if (status === 403) {
    return 'Either the id is wrong, which many Mattermost servers do not tell apart, or this account may not do that: join_channel makes it a member of a public channel; for other channels ask a member with the permission.';
  }
  if (status === 413) return 'It is larger than this Mattermost takes.';
  return 'Change the arguments before you try again.';
}

function readRefusal(body: Buffer): { message: string; errorId: string | undefined } {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    if (typeof value === 'object' && value !== null) {
      const message = 'message' in value && typeof value.message === 'string' ? value.message : '';
      const errorId = 'id' in value && typeof value.id === 'string' ? value.id : undefined;
      return { message: oneLine(message), errorId: errorId?.slice(0, 100) };
    }
  } catch {
    // a proxy in front of Mattermost answered; its page is of no use to an agent
  }
  return { message: '', errorId: undefined };
}

function oneLine(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim().replace(/\.$/, '');
  return line.length > LONGEST_MESSAGE ? `${line.slice(0, LONGEST_MESSAGE)}…` : line;
}
