// An MCP server on stdin and stdout, in both protocol eras, until the client disconnects or a signal ends the process.
import type { JSONRPCMessage, McpServerFactory } from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio as serveSdk } from '@modelcontextprotocol/server/stdio';

export interface McpStdioOptions {
  onError?: (error: Error) => void;
  /** Gets every message of the client before it is handled. */
  onMessage?: (message: JSONRPCMessage) => void;
  /** Runs when the connection has ended, before a signal ends the process. */
  close?: () => void | Promise<void>;
}

const STOP_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

export async function serveStdio(factory: McpServerFactory, options: McpStdioOptions = {}): Promise<void> {
  const { onError, onMessage, close } = options;
  const transport = new StdioServerTransport();
  const stopped = Promise.withResolvers<NodeJS.Signals | undefined>();
  const { log, info, debug } = console;
  // stdout belongs to the protocol, so tools print to stderr
  Object.assign(console, { log: console.error, info: console.error, debug: console.error });
  for (const signal of STOP_SIGNALS) process.once(signal, stopped.resolve);
  const handle = serveSdk(factory, { transport, ...(onError ? { onerror: onError } : {}) });
  const { onclose, onmessage } = transport;
  transport.onmessage = (message) => {
    onMessage?.(message);
    onmessage?.(message);
  };
  transport.onclose = () => {
    onclose?.();
    stopped.resolve(undefined);
  };
  const signal = await stopped.promise;
  try {
    await handle.close();
  } finally {
    await close?.();
    Object.assign(console, { log, info, debug });
    for (const name of STOP_SIGNALS) process.off(name, stopped.resolve);
  }
  if (signal) process.kill(process.pid, signal);
}
