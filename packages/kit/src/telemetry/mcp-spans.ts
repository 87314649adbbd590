// Spans of MCP tool calls, by the semantic conventions of OpenTelemetry: of the client that makes a call, and of the server
// that answers it. Trace context travels in `_meta`.
import { errorTypeOf, inSpan, type Metric, recordValue, type SpanAttributes, type SpanRequest } from './telemetry.ts';

const METHOD = 'tools/call';
/** Clients choose names, and may choose long ones. */
const MAX_NAME = 128;
const BUCKETS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

const clientDuration = {
  name: 'mcp.client.operation.duration',
  unit: 's',
  description: 'Time from a request to its result, as the MCP client sees it',
  buckets: BUCKETS,
};
const serverDuration = {
  name: 'mcp.server.operation.duration',
  unit: 's',
  description: 'Time from a request to its result, as the MCP server sees it',
  buckets: BUCKETS,
};

/** A call that a client makes. */
export interface SentCall {
  tool: string;
  protocolVersion?: string | undefined;
  sessionId?: string | undefined;
  /** The address of a server over HTTP; `pipe` for a child process. */
  server: URL | 'pipe' | undefined;
}

/** A call that a server received, with the part of `ServerContext` that a span shows. */
export interface ServedCall {
  tool: string;
  context: {
    sessionId?: string | undefined;
    mcpReq: { id: string | number; _meta?: Record<string, unknown> | undefined };
    http?: object | undefined;
  };
}

/** A call made within it carries the context of the span, if its `_meta` has the `traceHeaders()`. */
export function inToolCallSpan<Result extends object>(
  call: () => SentCall,
  work: () => Promise<Result>,
): Promise<Result> {
  const request = (): CallSpan => {
    const { tool, protocolVersion, sessionId, server } = call();
    const about = { 'mcp.protocol.version': protocolVersion, 'mcp.session.id': sessionId, ...addressOf(server) };
    return { tool, kind: 'client', attributes: about };
  };
  return inCallSpan(clientDuration, request, work);
}

/** Its parent is the span of the client that made the call. */
export function inServedCallSpan<Result extends object>(
  { tool, context: { sessionId, mcpReq, http } }: ServedCall,
  work: () => Promise<Result>,
): Promise<Result> {
  const request = (): CallSpan => ({
    tool,
    kind: 'server',
    from: mcpReq._meta,
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      'jsonrpc.request.id': String(mcpReq.id),
      'mcp.session.id': sessionId,
      'network.transport': http ? 'tcp' : undefined,
    },
  });
  return inCallSpan(serverDuration, request, work);
}

type CallSpan = Omit<SpanRequest, 'name'> & { tool: string };

function inCallSpan<Result extends object>(
  metric: Metric,
  request: () => CallSpan,
  work: () => Promise<Result>,
): Promise<Result> {
  let about: SpanAttributes = {};
  const named = (): SpanRequest => {
    const { tool, attributes, ...span } = request();
    const name = tool.slice(0, MAX_NAME);
    about = { 'mcp.method.name': METHOD, 'gen_ai.tool.name': name };
    return { ...span, name: `${METHOD} ${name}`, attributes: { ...about, ...attributes } };
  };
  return inSpan(named, async (span) => {
    if (!span) return work();
    const startedAt = performance.now();
    let failure: string | undefined;
    try {
      const result = await work();
      if ('isError' in result && result.isError === true) failure = 'tool_error';
      if (failure) span.fail(failure);
      return result;
    } catch (error) {
      failure = errorTypeOf(error);
      throw error;
    } finally {
      recordValue(metric, (performance.now() - startedAt) / 1_000, { ...about, 'error.type': failure });
    }
  });
}

function addressOf(server: SentCall['server']): SpanAttributes {
  if (server === undefined) return {};
  if (server === 'pipe') return { 'network.transport': 'pipe' };
  const port = Number(server.port) || (server.protocol === 'https:' ? 443 : 80);
  return { 'network.transport': 'tcp', 'server.address': server.hostname, 'server.port': port };
}
