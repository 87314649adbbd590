// Ways to reach an MCP server, where the SDK's own transports fall short of what a long-lived agent needs.
import type { ChildProcess } from 'node:child_process';
import type { FetchLike, JSONRPCMessage, SSEClientTransportOptions, Transport } from '@modelcontextprotocol/client';
import { InMemoryTransport, SSEClientTransport, SseError, serializeMessage } from '@modelcontextprotocol/client';
import { getDefaultEnvironment } from '@modelcontextprotocol/client/stdio';
import type { McpServerFactory } from '@modelcontextprotocol/server';
import { PocketError } from '@pocket-agent/kit';
import spawn from 'cross-spawn';
import type { InProcessServer } from '../mcp-config.ts';
import { Linger } from './linger.ts';
import { MessageLines, readMessage } from './message-lines.ts';
import { limitedFetch, SLICE_MS, UnsentAnswers } from './server-flood.ts';

/** The old SSE transport, closed when its stream breaks: the SDK would open another, where nobody knows our session. */
export class OldSseTransport extends SSEClientTransport {
  #started = false;
  readonly #answers: UnsentAnswers;
  /** Why it was ended in the middle of what the server sent. */
  brokenOff: Error | undefined;

  constructor(url: URL, options: SSEClientTransportOptions & { fetch: FetchLike }) {
    let breakOff: (error: Error) => void = () => {};
    super(url, { ...options, fetch: limitedFetch(options.fetch, (error) => breakOff(error)) });
    breakOff = (error) => {
      this.brokenOff ??= error;
      this.close().catch(() => {}); // it is broken already
    };
    this.#answers = new UnsentAnswers(breakOff);
    this.onerror = (error) => {
      if (this.#started && error instanceof SseError) this.close().catch(() => {}); // it is broken already
    };
  }

  override async send(message: JSONRPCMessage): Promise<void> {
    await ('method' in message ? super.send(message) : this.#answers.send(() => super.send(message)));
  }

  override async start(): Promise<void> {
    await super.start();
    this.#started = true;
  }
}

export interface ChildCommand {
  command: string;
  args: string[];
  env: Record<string, string>;
  cwd: string | undefined;
}

const CLOSE_GRACE_MS = 2_000;
const PIPE_GRACE_MS = 500;
const STDERR_KEPT = 2_000;
const NOISE_KEPT = 200;
/** Messages to a child that it has not read yet. Several large calls may start at once, before it can read any of them. */
const MOST_UNREAD_MB = 64;

// One set of listeners for all children: a process that ends without close() takes them along, unless by SIGKILL.
const running = new Set<ChildTransport>();
const killAll = () => running.forEach((child) => void child.kill());
const fatalSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const ours = Symbol.for('pocket-agent: ends children with the process');

/** A signal that nobody handles ends the process without 'exit'; one that the program handles is its own business. */
const endWithChildren = Object.assign(
  (signal: NodeJS.Signals) => {
    const others = process.listeners(signal).filter((listener) => !(ours in listener)).length;
    if (others > signalExitListeners()) return;
    killAll();
    for (const each of fatalSignals) process.removeListener(each, endWithChildren);
    process.kill(process.pid, signal);
  },
  { [ours]: true },
);

// the package signal-exit, part of many programs, steps back for other listeners as we do: one of us must not
function signalExitListeners(): number {
  const places = [
    Reflect.get(process, '__signal_exit_emitter__'),
    Reflect.get(globalThis, Symbol.for('signal-exit emitter')),
  ];
  return places.reduce((sum, emitter) => sum + (Number(emitter?.count) || 0), 0);
}

function watch(child: ChildTransport): void {
  if (running.size === 0) {
    process.on('exit', killAll);
    // first in line, to see also those that listen once
    for (const signal of fatalSignals) process.prependListener(signal, endWithChildren);
  }
  running.add(child);
}

function unwatch(child: ChildTransport): void {
  if (!running.delete(child) || running.size > 0) return;
  process.removeListener('exit', killAll);
  for (const signal of fatalSignals) process.removeListener(signal, endWithChildren);
}

/** A child process in a process group of its own, so that what it started ends with it. */
export class ChildTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #command: ChildCommand;
  readonly #lines = new MessageLines();
  readonly #linger = new Linger();
  readonly #answers = new UnsentAnswers((error) => this.#breakOff(error));
  #child: ChildProcess | undefined;
  #exited: Promise<void> = Promise.resolve();
  #closed = false;
  #hasSpoken = false;
  /** Messages have arrived that are not handled yet. */
  #isBehind = false;
  #stopWaiting: (() => void) | undefined;
  /** Its number may soon be that of somebody else's group. */
  #groupEnded = false;
  /** The end of what the child wrote to stderr, for error messages. The SDK looks for this name and `pid`. */
  stderr = '';
  /** The last line on stdout that is not a message, shortened. */
  noise = '';
  /** Why it was ended in the middle of what it said. */
  brokenOff: Error | undefined;

  constructor(command: ChildCommand) {
    this.#command = command;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  async start(): Promise<void> {
    const { command, args, env, cwd } = this.#command;
    const child = spawn(command, args, {
      env: { ...getDefaultEnvironment(), ...networkEnvironment(), ...env },
      cwd,
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: process.platform !== 'win32',
      windowsHide: true,
    });
    this.#child = child;
    this.#exited = new Promise((resolve) => child.once('exit', () => resolve()));
    child.once('exit', () => {
      this.kill(); // what the child started
      this.#groupEnded = true;
      // the last words may still be in the pipe; somebody who left the group may keep it open for ever
      const timer = setInterval(() => this.#isBehind || this.#finish(), PIPE_GRACE_MS);
      child.once('close', () => this.#finish());
      this.#stopWaiting = () => clearInterval(timer);
    });
    child.stdin?.on('error', (error) => this.onerror?.(error));
    child.stdout?.on('data', (chunk: Buffer) => this.#read(chunk));
    child.stderr?.on('data', (chunk: Buffer) => {
      this.stderr = (this.stderr + chunk.toString()).slice(-STDERR_KEPT);
    });
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', (error) => {
        this.#child = undefined;
        reject(error);
      });
    });
    watch(this);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (!stdin?.writable) throw new PocketError('MCP_CONNECT_FAILED', 'The server process has ended.');
    if (stdin.writableLength > MOST_UNREAD_MB * 1_024 * 1_024) throw this.#unread();
    const written = new Promise<void>((resolve) => {
      stdin.write(serializeMessage(message), () => resolve()); // what the pipe has no room for is kept by the stream
    });
    if (!('method' in message)) await this.#answers.send(() => written);
  }

  async close(): Promise<void> {
    const child = this.#child;
    if (!child) return;
    child.stdin?.end();
    // who has not said a word yet has nothing to finish
    if (!(await this.#endsWithin(this.#hasSpoken ? CLOSE_GRACE_MS : 0))) {
      this.#signalGroup('SIGTERM');
      await this.#endsWithin(CLOSE_GRACE_MS);
    }
    this.kill();
    await this.#exited;
    this.#finish();
  }

  /** The child and whatever it started. */
  kill(): void {
    this.#signalGroup('SIGKILL');
  }

  #read(chunk: Buffer): void {
    try {
      const lines = this.#lines.push(chunk);
      if (lines.length > 0) this.#linger.heard();
      this.#hear(lines);
    } catch (error) {
      this.#breakOff(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** Pauses the child when its messages take long, so that a flood of them does not block this process. */
  #hear(lines: readonly string[]): void {
    const begunAt = performance.now();
    for (const [index, line] of lines.entries()) {
      if (this.#closed || this.brokenOff) return;
      this.#isBehind = index > 0 && performance.now() - begunAt > SLICE_MS;
      if (this.#isBehind) {
        this.#child?.stdout?.pause();
        setImmediate(() => this.#hear(lines.slice(index)));
        return;
      }
      this.#hearLine(line);
    }
    this.#child?.stdout?.resume();
  }

  #hearLine(line: string): void {
    try {
      const message = readMessage(line);
      if (message) {
        this.#hasSpoken = true;
        this.onmessage?.(message);
      } else this.noise = line.trim().slice(0, NOISE_KEPT) || this.noise;
    } catch (error) {
      this.#report(error);
    }
  }

  #breakOff(error: Error): void {
    if (this.brokenOff) return;
    this.brokenOff = error;
    this.#report(error);
    this.kill();
  }

  #unread(): PocketError {
    const text = `The server process "${this.#command.command}" has stopped reading its stdin: more than ${MOST_UNREAD_MB} MB wait there, so nothing more is sent until it reads on.`;
    return new PocketError('MCP_REQUEST_FAILED', text);
  }

  #report(error: unknown): void {
    this.onerror?.(error instanceof Error ? error : new Error(String(error)));
  }

  async #endsWithin(ms: number): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<boolean>((resolve) => {
      timer = setTimeout(() => resolve(false), ms);
    });
    const ended = await Promise.race([this.#exited.then(() => true), timeout]);
    clearTimeout(timer);
    return ended;
  }

  #finish(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#stopWaiting?.();
    unwatch(this);
    this.#child?.stdin?.destroy();
    this.#child?.stdout?.destroy();
    this.#child?.stderr?.destroy();
    this.#lines.clear();
    this.onclose?.();
  }

  #signalGroup(signal: NodeJS.Signals): void {
    const pid = this.#child?.pid;
    if (pid === undefined || this.#groupEnded) return;
    try {
      if (process.platform === 'win32') this.#child?.kill(signal);
      else process.kill(-pid, signal);
    } catch (error) {
      // ESRCH: nobody of the group is left, which is what was wanted
      if (error instanceof Error && !('code' in error && error.code === 'ESRCH')) this.onerror?.(error);
    }
  }
}

/** A server of this process, in the 2025 era: it takes half the work, and servers may ask in the middle of a call. */
export async function inProcessTransport(server: InProcessServer): Promise<Transport> {
  const [near, far] = InMemoryTransport.createLinkedPair();
  const make = factoryOf(server);
  const made = await make({ era: 'legacy' });
  if ('isConnected' in made && made.isConnected()) {
    throw new PocketError(
      'CONFIG_INVALID',
      'This McpServer object already serves somebody. Pass a function that makes a new one: { server: () => new McpServer(…) }.',
    );
  }
  await made.connect(far);
  return near;
}

function factoryOf(server: InProcessServer): McpServerFactory {
  if (typeof server === 'function') return server;
  return 'createServer' in server ? () => server.createServer() : () => server;
}

/** How this machine reaches the network: without it, `npx some-server` cannot fetch anything behind a proxy. */
const networkVariables = [
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
  'ALL_PROXY',
  'NODE_EXTRA_CA_CERTS',
  'NODE_USE_SYSTEM_CA',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
];

function networkEnvironment(): Record<string, string> {
  const names = networkVariables.flatMap((name) => [name, name.toLowerCase()]);
  return Object.fromEntries(
    names.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  );
}
