// The attempts at one request: after a failure, decides whether it may be sent again, and over which session.
import type { Tool } from '@modelcontextprotocol/client';
import { abortable, errorText, PocketError } from '@pocket-agent/kit';
import { isRepeatable } from '../access/capabilities.ts';
import { outcomeUnknown } from '../base/tool-call.ts';
import { authorizationNeeded, finishLogin, isUnauthorized, loginOf, MAX_LOGINS } from './connect.ts';
import type { McpConnection } from './connection.ts';
import { isHeaderMismatch, retrySafety, safetyAfterAnswer } from './retry-safety.ts';
import type { Session } from './session.ts';
import { HttpTransport } from './transports/http-transport.ts';

export class Attempts {
  /** Undefined for requests other than tool calls, which only read. */
  readonly tool: Tool | undefined;
  readonly signal: AbortSignal;
  /** When the first attempt started, by `performance.now()`. */
  startedAt: number | undefined;
  /** The server has run a part of the last attempt, and asked something. */
  hasStarted = false;
  /** The tool as the server listed it after it had missed arguments in the headers. */
  relisted: Tool | undefined;
  readonly #connection: McpConnection;
  #isSecond = false;
  #logins = 0;

  constructor(connection: McpConnection, signal: AbortSignal, tool?: Tool) {
    this.#connection = connection;
    this.signal = signal;
    this.tool = tool;
  }

  /** A session for the next attempt, which must release it. */
  async holdSession(): Promise<Session> {
    this.signal.throwIfAborted();
    const session = (this.#isSecond ? undefined : this.#connection.session) ?? (await this.#newSession());
    session.hold();
    return session;
  }

  /** After a failed attempt: returns if the request may be sent again, and throws if not. */
  async recover(session: Session, error: unknown): Promise<void> {
    const { tool, hasStarted } = this;
    const { name, signal } = this.#connection;
    this.signal.throwIfAborted();
    signal.throwIfAborted();
    if (isUnauthorized(error)) return this.#logIn(session, error);
    if (tool && !hasStarted && !this.relisted && isHeaderMismatch(error)) return this.#relist(session, tool);
    const { closeReason } = session;
    const safety = closeReason ? safetyAfterAnswer(tool) : retrySafety(error, tool, hasStarted);
    if (safety === 'no-loss') throw error;
    const cause = closeReason ?? error;
    this.#connection.sessionLost(session, error);
    if (safety === 'unsafe')
      throw outcomeUnknown(`The connection to MCP server "${name}" was lost while "${tool?.name}" ran`, cause);
    if (this.#isSecond) throw failed(`The connection to MCP server "${name}" was lost: ${errorText(cause)}`, cause);
    this.#isSecond = true;
  }

  /** After a restart the server may have a different tool of that name, which no policy has judged. */
  async #newSession(): Promise<Session> {
    const { tool } = this;
    if (!tool) return abortable(this.#connection.connect(), this.signal);
    const { session, tools } = await this.#connection.list(this.signal);
    const now = tools.find(({ name }) => name === tool.name);
    if (now === tool || JSON.stringify(now) === JSON.stringify(tool)) return session;
    const change = now ? 'has changed; call it again to use the new version' : 'no longer exists';
    const lost = `The connection to MCP server "${this.#connection.name}" was lost`;
    throw failed(`${lost}, and "${tool.name}" was not called over the new one: it ${change}.`);
  }

  /** A server may want more scopes in the middle of a session. It has not run the call that it refused. */
  async #logIn({ transport }: Session, error: unknown): Promise<void> {
    const { name, entry } = this.#connection;
    if (this.hasStarted && !isRepeatable(this.tool))
      throw outcomeUnknown(`MCP server "${name}" required a login while "${this.tool?.name}" ran`, error);
    const login = loginOf(entry);
    if (!login || !(transport instanceof HttpTransport) || ++this.#logins > MAX_LOGINS)
      throw authorizationNeeded(name, entry, error);
    await finishLogin(login, transport, this.signal);
  }

  async #relist(session: Session, { name }: Tool): Promise<void> {
    const tools = await this.#connection.listAgain(session, this.signal);
    this.relisted = tools.find((tool) => tool.name === name);
    if (!this.relisted) throw failed(`MCP server "${this.#connection.name}" no longer has a tool "${name}".`);
  }
}

function failed(text: string, cause?: unknown): PocketError {
  return new PocketError('MCP_REQUEST_FAILED', text, cause === undefined ? {} : { cause });
}
