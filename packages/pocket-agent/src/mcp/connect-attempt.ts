// One attempt to connect to a server, and its time limit.
import type { Client, ConnectOptions, Transport } from '@modelcontextprotocol/client';
import { abortable, isPocketError, LONGEST_TIMER_MS, PocketError, startDeadline } from '@pocket-agent/kit';
import type { McpServerEntry } from './mcp-config.ts';
import { hearMessages, type Listener, makeClient, routeMessages } from './sdk-client.ts';
import type { ChildTransport } from './transports/child-transport.ts';

export interface ConnectRequest {
  name: string;
  entry: McpServerEntry;
  queryParams: Record<string, string> | undefined;
  signal: AbortSignal;
  /** For the server; the login of a person is not limited. */
  timeoutMs: number;
  /** For its answer to the probe for the protocol era. Default: `timeoutMs`. */
  probeMs?: number;
  /** A server process was started. */
  onChild?(child: ChildTransport): void;
  /** A person has to log in. */
  onLogin?(): void;
  listener: Listener;
}

export interface Connected {
  client: Client;
  transport: Transport;
}

export async function inTime(
  request: ConnectRequest,
  connect: (bounded: ConnectRequest) => Promise<Connected>,
): Promise<Connected> {
  const { name, signal, timeoutMs } = request;
  const deadline = startDeadline(`Connecting to MCP server "${name}"`, [signal], timeoutMs);
  try {
    return await connect({ ...request, signal: deadline.signal });
  } catch (error) {
    if (error !== deadline.signal.reason || !isPocketError(error, 'TIMEOUT')) throw error;
    const text = `${error.message} If it needs longer, raise "connectTimeoutMs" of its entry.`;
    throw new PocketError('TIMEOUT', text, { cause: error });
  } finally {
    deadline.release();
  }
}

export async function attempt(
  request: ConnectRequest,
  transport: Transport,
  options: ConnectOptions,
): Promise<Connected> {
  const { probeMs, listener } = request;
  const client = makeClient(listener, {
    mode: 'auto',
    ...(probeMs === undefined ? {} : { probe: { timeoutMs: Math.min(probeMs, LONGEST_TIMER_MS) } }),
  });
  hearMessages(transport, listener);
  try {
    await abortable(
      client.connect(transport, {
        ...options,
        timeout: Math.min(request.timeoutMs, LONGEST_TIMER_MS),
        signal: request.signal,
      }),
      request.signal,
    );
    routeMessages(transport, listener, client.getProtocolEra() === 'modern');
    return { client, transport };
  } catch (error) {
    await transport.close().catch(() => {}); // the first error matters
    throw brokenOff(transport) ?? error;
  }
}

/** The reason if we ended the connection, because its server broke a limit. */
export function brokenOff(transport: Transport): Error | undefined {
  return 'brokenOff' in transport && transport.brokenOff instanceof Error ? transport.brokenOff : undefined;
}
