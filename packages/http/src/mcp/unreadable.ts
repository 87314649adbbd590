// Refuses requests that node:http accepts but `new Request` does not.
import type { IncomingMessage, ServerResponse } from 'node:http';

/** Methods that node:http accepts and `new Request` does not. */
const FORBIDDEN_METHODS = ['TRACE', 'TRACK', 'CONNECT'];

/** Answers a malformed request; returns whether it did. */
export function refuseUnreadable(
  { method = '', headers, url = '/' }: IncomingMessage,
  response: ServerResponse,
): boolean {
  const status = FORBIDDEN_METHODS.includes(method.toUpperCase()) ? 405 : isAddress(headers.host, url) ? 200 : 400;
  if (status === 200) return false;
  const error = status === 405 ? `The method ${method} is not allowed` : 'The Host header or the path is malformed';
  const allow = status === 405 ? { allow: 'GET, HEAD, POST, DELETE, OPTIONS' } : {};
  response.writeHead(status, { 'content-type': 'application/json', connection: 'close', ...allow });
  response.end(JSON.stringify({ error }));
  return true;
}

function isAddress(host = 'localhost', path: string): boolean {
  return URL.canParse(`http://${host}${path}`);
}
