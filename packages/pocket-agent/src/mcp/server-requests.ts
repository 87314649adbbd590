// Requests and notifications of servers: the handlers of an agent, and their registration with the MCP SDK.
import type {
  Client,
  ClientCapabilities,
  ClientContext,
  CreateMessageRequest,
  CreateMessageResult,
  LoggingLevel,
  Root,
} from '@modelcontextprotocol/client';
import { callListener, type Logger } from '@pocket-agent/kit';
import type { ToolProgress } from '../base/tool-call.ts';
import { currentRun, type ElicitationHandler, type QuestionOrigin, whileAsking } from '../run/run-context.ts';

interface From {
  server: string;
  /** Set if the connection belongs to one caller. */
  caller?: string | undefined;
}

/** A list whose changes a server can announce. */
export type ServerList = 'tools' | 'prompts' | 'resources';

/** A log message that an MCP server sent. */
export interface ServerLog extends From {
  level: LoggingLevel;
  data: unknown;
  logger?: string;
}

/** A request or notification as the server sent it. */
export interface ServerMessage {
  method: string;
  params?: Record<string, unknown> | undefined;
}

/** Answers what MCP servers ask of the program that uses them. */
export interface ServerHandlers {
  /** A server asks the user something. */
  elicitationHandler?: ElicitationHandler;
  /** Log messages of servers. Default: they go to the agent's logger. */
  logHandler?: (log: ServerLog) => void;
  /** Progress of every call of this agent. */
  progressHandler?: (update: ToolProgress & From & { toolCallId: string }) => void;
  /** A server asks for a model call. Default: refused. */
  samplingHandler?: (
    params: CreateMessageRequest['params'],
    from: QuestionOrigin,
  ) => CreateMessageResult | Promise<CreateMessageResult>;
  /** Gets every request and notification of every server, in addition to the other handlers. */
  messageHandler?: (message: ServerMessage, from: From) => void;
  /** A server announces that one of its lists has changed. */
  listChangedHandler?: (list: ServerList, from: From) => void;
  /** The folders that a server may use as its workspace. */
  roots?: readonly Root[] | ((from: QuestionOrigin) => readonly Root[] | Promise<readonly Root[]>);
}

/**
 * The handlers for one server. A question goes to the run that made the call before it goes to the handler. `approvals`: the
 * server is a Pocket Agent whose approval questions go to the approver of that run.
 */
export function handlersFor(handlers: ServerHandlers, approvals: boolean): ServerHandlers {
  const { elicitationHandler } = handlers;
  if (!elicitationHandler && !approvals) return handlers;
  const answer: ElicitationHandler = async (params, from) => {
    const run = currentRun();
    const asker = run && { ...run, signal: AbortSignal.any([run.signal, from.signal]) };
    const approver = approvals ? await import('../access/remote-approval.ts') : undefined;
    const approval = approver && (await approver.answerApproval(params, from.server, asker));
    if (approval) return approval;
    const ask = run?.elicit ?? elicitationHandler;
    if (ask) return whileAsking(run?.asking, async () => ask(params, from));
    return approver?.unanswered(params, true).result ?? { action: 'cancel' };
  };
  return { ...handlers, elicitationHandler: answer };
}

export function capabilitiesOf(handlers: ServerHandlers): ClientCapabilities {
  return {
    ...(handlers.elicitationHandler ? { elicitation: { form: { applyDefaults: true }, url: {} } } : {}),
    ...(handlers.samplingHandler ? { sampling: {} } : {}),
    ...(handlers.roots ? { roots: {} } : {}),
  };
}

const logLevels = new Map<string, keyof Logger>([
  ['debug', 'debug'],
  ['info', 'info'],
  ['notice', 'info'],
  ['warning', 'warn'],
  ['error', 'error'],
  ['critical', 'error'],
  ['alert', 'error'],
  ['emergency', 'error'],
]);

export function logTo(logger: Logger, { server, level, data }: ServerLog): void {
  logger[logLevels.get(level) ?? 'info'](`[${server}] ${typeof data === 'string' ? data : JSON.stringify(data)}`);
}

interface RequestsOf {
  server: string;
  handlers: ServerHandlers;
  logger: Logger;
  /** Runs a handler that may take long, until its question ends. Calls do not time out while it runs. */
  whileAsked<Answer>(
    cancelled: AbortSignal,
    answer: (signal: AbortSignal) => Answer | Promise<Answer>,
  ): Promise<Answer>;
}

export function registerServerRequests(client: Client, { server, handlers, logger, whileAsked }: RequestsOf): void {
  const { elicitationHandler, samplingHandler, roots } = handlers;
  // in the 2026 era requests arrive inside results, not as messages
  const show = (message: ServerMessage) => {
    if (client.getProtocolEra() !== 'modern') return;
    callListener(logger, 'messageHandler', () => handlers.messageHandler?.(message, { server }));
  };
  const ask = <Answer>({ mcpReq }: ClientContext, answer: (from: QuestionOrigin) => Answer | Promise<Answer>) => {
    // the name of the question; in the 2025 era a number of the connection
    const name = client.getProtocolEra() === 'modern' ? String(mcpReq.id) : undefined;
    return whileAsked(mcpReq.signal, (signal) => answer({ server, name, signal }));
  };
  if (elicitationHandler) {
    client.setRequestHandler('elicitation/create', async ({ method, params }, context) => {
      show({ method, params });
      return ask(context, (from) => elicitationHandler(params, from));
    });
  }
  if (samplingHandler) {
    client.setRequestHandler('sampling/createMessage', async ({ method, params }, context) => {
      show({ method, params });
      return ask(context, (from) => samplingHandler(params, from));
    });
  }
  if (roots) {
    client.setRequestHandler('roots/list', async ({ method, params }, context) => {
      show({ method, params });
      if (typeof roots !== 'function') return { roots: [...roots] };
      return ask(context, async (from) => ({ roots: [...(await roots(from))] }));
    });
  }
}
