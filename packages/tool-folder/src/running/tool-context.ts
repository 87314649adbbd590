// What a tool knows beside its arguments: its folder, its variables, and the call that is going on.
import type { LoggingLevel } from '@modelcontextprotocol/client';
import type { Logger } from '@pocket-agent/kit';
import type { ToolProgress } from 'pocket-agent';

export type ToolLogLevel = LoggingLevel | 'warn';

/** Given to the constructor of `Tools`, where it always means the call that is going on, and to each call as its own. */
interface CallContext {
  readonly folder: { readonly name: string; readonly humanName: string; readonly path: string };
  /** Only the variables that the manifest names. */
  readonly env: Readonly<Record<string, string>>;
  /** To the client that called, or to the log of the host. */
  log(level: ToolLogLevel, ...data: unknown[]): void;
  /** Also a sign of life: a call that reports progress is not given up. */
  progress(update: ToolProgress): void;
  /** Aborted when nobody waits for the call any more; outside a call, when the folder is unloaded. */
  readonly signal: AbortSignal;
  readonly toolCallId: string;
  /** Ids and names of call and agent, trace context, what the host added. */
  readonly meta: Readonly<Record<string, unknown>>;
}

/** `Host` is what the program that loads the folder adds, for example `{ discord: { channel } }`. */
export type ToolContext<Host extends object = object> = CallContext & Readonly<Host>;

/** What a host adds to every context: the same for all calls, or made for each. */
export type HostContext =
  | object
  | ((call: { toolName: string; toolCallId: string; meta: Readonly<Record<string, unknown>> }) => object);

/** Data of any kind as one line of a log. */
export function logText(data: readonly unknown[]): string {
  return data.map((item) => (typeof item === 'string' ? item : safeJson(item))).join(' ');
}

function safeJson(value: unknown): string {
  if (value instanceof Error) return value.message;
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}

export function loggerLevel(level: ToolLogLevel): keyof Logger {
  if (level === 'debug') return 'debug';
  if (level === 'info' || level === 'notice') return 'info';
  return level === 'warn' || level === 'warning' ? 'warn' : 'error';
}
