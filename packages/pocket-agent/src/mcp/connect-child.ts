// Starts a server process and connects to it: finds out its protocol era, and explains failures.
import { statSync } from 'node:fs';
import { basename, isAbsolute } from 'node:path';
import {
  type ConnectOptions,
  isSpecType,
  type JSONRPCMessage,
  SdkError,
  SdkErrorCode,
} from '@modelcontextprotocol/client';
import { errorText, isPocketError, isWorker, PocketError } from '@pocket-agent/kit';
import { currentCaller } from './callers/caller.ts';
import { expandVariables, type StdioEntry } from './mcp-config.ts';
import { type Connected, type ConnectRequest, connectClient } from './sdk-client.ts';
import { type ChildCommand, ChildTransport } from './transports/child-transport.ts';

/** A 2025 server that ignores unknown requests would otherwise delay the connection for the whole timeout. */
const STDIO_PROBE_MS = 10_000;
/** The probe may take this part of the timeout, so that there is time for the handshake. */
const STDIO_PROBE_PART = 1 / 3;
/** After this part of the timeout, the server is not restarted to speak a newer era. */
const RESTART_PART = 1 / 2;

export async function connectChild(request: ConnectRequest, entry: StdioEntry): Promise<Connected> {
  const { name, signal, timeoutMs } = request;
  if (isWorker()) throw new PocketError('MCP_CONNECT_FAILED', noProgram(name));
  const begunAt = performance.now();
  const command = commandOf(name, entry);
  const first = new Start(request, entry, command);
  try {
    const connected = await first.connect(Math.min(STDIO_PROBE_MS, timeoutMs * STDIO_PROBE_PART));
    if (!first.wasLate || performance.now() - begunAt > timeoutMs * RESTART_PART) return connected;
    await connected.client.close();
  } catch (error) {
    // the error already contains the output of the child
    if (signal.aborted || isMissingCommand(error)) throw error;
  }
  signal.throwIfAborted();
  // A 2026 server that started too slowly for the probe gets more time now. Any other is a 2025 server that exits if the
  // first request is not `initialize`.
  return new Start(request, entry, command).connect(timeoutMs, first.wasLate ? {} : { prior: { kind: 'legacy' } });
}

function noProgram(server: string): string {
  return `MCP server "${server}" is a program, and Workers start none: set the "url" of a server over HTTP, or use Node, Bun or Deno.`;
}

class Start {
  /** The server answered the probe after the client had fallen back to 2025. */
  wasLate = false;
  readonly #request: ConnectRequest;
  readonly #entry: StdioEntry;
  readonly #command: ChildCommand;

  constructor(request: ConnectRequest, entry: StdioEntry, command: ChildCommand) {
    this.#request = request;
    this.#entry = entry;
    this.#command = command;
  }

  async connect(probeMs: number, options: ConnectOptions = {}): Promise<Connected> {
    const transport = new ChildTransport(this.#command);
    this.#request.onChild?.(transport);
    let isConnecting = true;
    transport.onmessage = (message) => {
      if (isConnecting) this.wasLate ||= isDiscovery(message);
    };
    try {
      return await connectClient({ ...this.#request, probeMs }, transport, options);
    } catch (error) {
      const { name, timeoutMs } = this.#request;
      const { closeReason } = transport;
      throw childError({ name, entry: this.#entry, ...this.#command, transport, timeoutMs }, closeReason ?? error);
    } finally {
      isConnecting = false;
    }
  }
}

function commandOf(server: string, { command, args = [], env = {}, cwd }: StdioEntry): ChildCommand {
  // configuration files may contain numbers
  const expand = (text: string | number) => expandVariables(`MCP server "${server}"`, String(text));
  return {
    command: expand(command),
    args: args.map(expand),
    env:
      typeof env === 'function'
        ? env(currentCaller())
        : Object.fromEntries(Object.entries(env).map(([key, value]) => [key, expand(value)])),
    cwd: cwd === undefined ? undefined : expand(cwd),
  };
}

/** An answer to the probe that came too late; the SDK does not pass on one that came in time. */
function isDiscovery(message: JSONRPCMessage): boolean {
  return 'result' in message && typeof message.id === 'string' && isSpecType.DiscoverResult(message.result);
}

function isMissingCommand(error: unknown): boolean {
  return error instanceof PocketError && isMissing(error.cause);
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

interface FailedChild {
  name: string;
  entry: StdioEntry;
  /** The command with variables expanded. */
  command: string;
  cwd: string | undefined;
  transport: ChildTransport;
  timeoutMs: number;
}

function childError(child: FailedChild, error: unknown): PocketError {
  if (error instanceof PocketError && error.code !== 'MCP_CONNECT_FAILED' && error.code !== 'TIMEOUT') return error;
  const why = childReason(child, error);
  const text = `Could not start MCP server "${child.name}" (${basename(child.command)}): ${why}.${childHint(child.transport)}`;
  return new PocketError('MCP_CONNECT_FAILED', text, { cause: error });
}

function childReason({ entry, cwd, timeoutMs }: FailedChild, error: unknown): string {
  const folder = cwd ?? process.cwd();
  if (isPocketError(error, 'TIMEOUT')) {
    return `it did not answer within ${timeoutMs} ms ("connectTimeoutMs" of its entry). It must answer with MCP messages on stdout; other text is ignored`;
  }
  const isOver =
    isPocketError(error, 'MCP_CONNECT_FAILED') ||
    (error instanceof SdkError && error.code === SdkErrorCode.ConnectionClosed);
  if (isOver) {
    return `it ended or closed its output before it answered as an MCP server. Run the command in ${folder} to see why`;
  }
  // for a missing folder Node reports that the program is missing
  if (cwd && !statSync(cwd, { throwIfNoEntry: false })?.isDirectory()) {
    return `its "cwd" ${entry.cwd} is not a folder (${errorText(error)})`;
  }
  const [program = '', ...args] = entry.command.trim().split(/\s+/);
  if (isMissing(error) && args.length > 0) {
    const apart = `"command": ${JSON.stringify(program)}, "args": ${JSON.stringify(args)}`;
    return `"${entry.command}" is not a program (ENOENT). Put its arguments into "args": ${apart}`;
  }
  if (isMissing(error)) {
    const path = isAbsolute(entry.command) ? 'at this path' : `in ${folder}`;
    const place = /[\\/]/.test(entry.command) ? path : 'in the PATH';
    return `there is no program "${entry.command}" ${place} (ENOENT). Install it, or set "command" to its full path`;
  }
  return errorText(error);
}

/**
 * A sentence about the output of a child that failed, with a leading space; empty without output. It shows the line of
 * stderr that names an error and the lines that explain it; without such a line, the last ones.
 */
export function childHint({ stderr, noise }: ChildTransport): string {
  if (noise) return ` It prints text on stdout that is not MCP: ${JSON.stringify(noise)}.`;
  const lines = stderr.split('\n').filter((line) => line.trim());
  const from = lines.findLastIndex((line) => /^(Uncaught )?[\w.]*(Error|Exception)\b[^:]*: /.test(line));
  if (lines.length === 0) return '';
  // these lines may have nothing to do with the failure
  if (from < 0) return ` Its stderr ends with: ${shown(lines.slice(-3))}`;
  // without the stack, the fields of the error and the version of Node
  const explanation = lines.slice(from).filter((line) => !/^([\s{}]|Node\.js v)/.test(line));
  return ` It said: ${shown(explanation.slice(0, 3))}`;
}

function shown(lines: readonly string[]): string {
  return lines.join(' / ').trim();
}
