// An MCP server over HTTP that checks the Authorization of every request, and that a session is used by its user only.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer as LegacyServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { text } from '../fixtures/programs/lives.ts';
import { type Host, listen } from '../fixtures/servers/http-hosts.ts';

interface Session {
  user: string;
  transport: StreamableHTTPServerTransport;
}

export interface PersonalHost extends Host {
  /** A new token of a user; the ones before stay valid. */
  issue(user: string): string;
  revoke(token: string): void;
  /** As after a restart. */
  forgetSessions(): void;
  /** Requests whose token did not belong to the user of their session. */
  readonly violations: string[];
  /** User and verb or method of every accepted request. */
  readonly accepted: string[];
  /** Requests with a missing or wrong token. */
  readonly refused: string[];
  /** Users of the sessions that are open. */
  users(): string[];
}

export async function startPersonalHost(era: '2025' | '2026' = '2025'): Promise<PersonalHost> {
  const tokens = new Map<string, string>();
  const sessions = new Map<string, Session>();
  const violations: string[] = [];
  const accepted: string[] = [];
  const refused: string[] = [];

  const inSession = async (user: string, request: IncomingMessage, response: ServerResponse, body: unknown) => {
    const id = request.headers['mcp-session-id'];
    const known = typeof id === 'string' ? sessions.get(id) : undefined;
    if (id && !known) return end(response, 404, 'Session not found');
    if (known && known.user !== user) {
      violations.push(`${user} in a session of ${known.user}`);
      return end(response, 403, 'This is the session of another user');
    }
    if (known) return known.transport.handleRequest(request, response, body);
    if (Reflect.get(Object(body), 'method') !== 'initialize') return end(response, 400, 'Bad Request: no session');
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (session) => void sessions.set(session, { user, transport }),
      onsessionclosed: (session) => void sessions.delete(session),
    });
    await legacyServer(user).connect(transport);
    return transport.handleRequest(request, response, body);
  };

  const host = await listen(undefined, (request, response, body) => {
    const token = request.headers.authorization?.replace(/^Bearer /, '') ?? '';
    const user = tokens.get(token);
    const what = `${Reflect.get(Object(body), 'method') ?? request.method}`;
    if (user === undefined) {
      refused.push(what);
      return end(response, 401, 'Who are you?');
    }
    accepted.push(`${user} ${what}`);
    if (era === '2025') return inSession(user, request, response, body);
    return toNodeHandler(createMcpHandler(() => modernServer(user), { legacy: 'reject' }))(request, response, body);
  });
  return {
    ...host,
    violations,
    accepted,
    refused,
    issue(user) {
      const token = `${user}-${randomUUID()}`;
      tokens.set(token, user);
      return token;
    },
    revoke: (token) => void tokens.delete(token),
    forgetSessions: () => sessions.clear(),
    users: () => [...sessions.values()].map(({ user }) => user).sort(),
  };
}

const readOnly = { readOnlyHint: true };

/** Each user sees a tool of their own. */
function legacyServer(user: string): LegacyServer {
  const server = new LegacyServer({ name: 'personal', version: '1.0.0' });
  let notes = 0;
  server.registerTool('whoami', { annotations: readOnly }, () => text(user));
  server.registerTool('note', {}, () => text(`note ${++notes} of ${user}`));
  server.registerTool(`files_of_${user}`, { annotations: readOnly }, () => text(`the files of ${user}`));
  return server;
}

function modernServer(user: string): McpServer {
  const server = new McpServer({ name: 'personal', version: '1.0.0' });
  const says = (words: string) => () => ({ content: [{ type: 'text' as const, text: words }] });
  server.registerTool('whoami', { annotations: readOnly }, says(user));
  server.registerTool(`files_of_${user}`, { annotations: readOnly }, says(`the files of ${user}`));
  return server;
}

function end(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { 'content-type': 'text/plain' }).end(message);
}
