// What servers may ask of us or tell us: the handlers of an agent, and how the MCP SDK gets to know them.
import type {
  Client,
  ClientCapabilities,
  CreateMessageRequest,
  CreateMessageResult,
  LoggingLevel,
  Root,
} from '@modelcontextprotocol/client';
import { errorText, type Logger } from '@pocket-agent/kit';
import type { ToolProgress } from '../base/tool-call.ts';
import type { ElicitationHandler } from '../run/run-context.ts';

interface From {
  server: string;
}

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

export interface ServerHandlers {
  /** A server wants something from the user. */
  elicitationHandler?: ElicitationHandler;
  /** Log lines of servers. Default: into the agent's logger. */
  logHandler?: (log: ServerLog) => void;
  /** Progress of every call of this agent. */
  progressHandler?: (update: ToolProgress & From & { toolCallId: string }) => void;
  /** A server wants a model. Default: refused. */
  samplingHandler?: (
    params: CreateMessageRequest['params'],
    from: From & { signal: AbortSignal },
  ) => CreateMessageResult | Promise<CreateMessageResult>;
  /** Sees every request and notification of every server, whatever else handles it. */
  messageHandler?: (message: ServerMessage, from: From) => void;
  /** The folders a server may regard as its workspace. */
  roots?: readonly Root[] | (() => readonly Root[] | Promise<readonly Root[]>);
}

export function capabilitiesOf(handlers: ServerHandlers): ClientCapabilities {
  return {
    ...(handlers.elicitationHandler ? { elicitation: { form: { applyDefaults: true }, url: {} } } : {}),
    ...(handlers.samplingHandler ? { sampling: {} } : {}),
    ...(handlers.roots ? { roots: {} } : {}),
  };
}

/** Calls somebody who only listens: what goes wrong there, now or later, is logged and troubles nobody else. */
export function tell(logger: Logger, listener: string, call: () => unknown): void {
  const failed = (error: unknown) => logger.error(`${listener} failed: ${errorText(error)}`);
  try {
    Promise.resolve(call()).catch(failed);
  } catch (error) {
    failed(error);
  }
}

interface RequestsOf {
  server: string;
  handlers: ServerHandlers;
  logger: Logger;
  /** Runs an answer that may take its time. */
  whileAsked<Answer>(answer: () => Answer | Promise<Answer>): Promise<Answer>;
}

export function registerServerRequests(client: Client, { server, handlers, logger, whileAsked }: RequestsOf): void {
  const { elicitationHandler, samplingHandler, roots } = handlers;
  // in the 2026 era requests come inside results, where nobody sees them pass as messages
  const show = (message: ServerMessage) => {
    if (client.getProtocolEra() !== 'modern') return;
    tell(logger, 'messageHandler', () => handlers.messageHandler?.(message, { server }));
  };
  if (elicitationHandler) {
    client.setRequestHandler('elicitation/create', async ({ method, params }) => {
      show({ method, params });
      return whileAsked(() => elicitationHandler(params, { server }));
    });
  }
  if (samplingHandler) {
    client.setRequestHandler('sampling/createMessage', async ({ method, params }, context) => {
      show({ method, params });
      return whileAsked(() => samplingHandler(params, { server, signal: context.mcpReq.signal }));
    });
  }
  if (roots) {
    client.setRequestHandler('roots/list', async ({ method, params }) => {
      show({ method, params });
      return { roots: [...(typeof roots === 'function' ? await roots() : roots)] };
    });
  }
}
