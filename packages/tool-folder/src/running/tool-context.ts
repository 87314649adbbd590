// ToolContext: what a tool knows about its folder, its variables and the current call.
import type { LoggingLevel } from '@modelcontextprotocol/client';
import type { Logger } from '@pocket-agent/kit';
import type { ToolProgress } from 'pocket-agent';

/** The levels of MCP, and `warn` for `warning`. */
export type ToolLogLevel = LoggingLevel | 'warn';

/** Passed to each call, and to the constructor of `Tools`, where it reflects the current call. */
interface CallContext {
  readonly folder: { readonly name: string; readonly humanName: string; readonly path: string };
  /** Only the variables that the manifest names. */
  readonly env: Readonly<Record<string, string>>;
  /** Logs to the client that called, or to the log of the host. */
  log(level: ToolLogLevel, ...data: unknown[]): void;
  /** Reports progress, and restarts the time limit of the call. */
  progress(update: ToolProgress): void;
  /** Aborted when the call is cancelled; between calls, when the folder is unloaded. */
  readonly signal: AbortSignal;
  readonly toolCallId: string;
  /** Ids and names of the call and the agent, trace context, and additions of the host. */
  readonly meta: Readonly<Record<string, unknown>>;
  /** The user behind the call: `caller` of the run, or the authenticated MCP client. */
  readonly caller?: string | undefined;
  /** `metadata` of the run. */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** `Host` is the part that the host program adds, for example `{ discord: { channel } }`. */
export type ToolContext<Host extends object = object> = CallContext & Readonly<Host>;

/** Added by the host to every context: one object for all calls, or a function called for each. */
export type HostContext = object | ((call: HostedCall) => object);

interface HostedCall extends Pick<CallContext, 'toolCallId' | 'meta' | 'caller' | 'metadata'> {
  toolName: string;
}

/** Formats any data as one line. */
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
