// MCP over stdio: a child process in a process group of its own, so that everything it started ends with it.
import type { ChildProcess } from 'node:child_process';
import { type JSONRPCMessage, serializeMessage, type Transport } from '@modelcontextprotocol/client';
import { getDefaultEnvironment } from '@modelcontextprotocol/client/stdio';
import { PocketError, settlesWithin, TimeSlices } from '@pocket-agent/kit';
import spawn from 'cross-spawn';
import { hasEnded, killAtExit } from './child-processes.ts';
import { PendingAnswers } from './flood-limits.ts';
import { MessageLines, readMessage } from './message-lines.ts';

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
/** Messages that the child has not read yet. Several large calls may start before it reads any of them. */
const MAX_UNREAD_MB = 64;

export class ChildTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #command: ChildCommand;
  readonly #lines = new MessageLines();
  readonly #answers = new PendingAnswers((error) => this.#closeFor(error));
  #child: ChildProcess | undefined;
  #exited: Promise<void> = Promise.resolve();
  #closed = false;
  #hasAnswered = false;
  /** Received messages are still being delivered. */
  #isBehind = false;
  #stopWaiting: (() => void) | undefined;
  /** The process group has ended; its id may be reused. */
  #groupEnded = false;
  /** The end of what the child wrote to stderr, for error messages. The SDK looks for this name and `pid`. */
  stderr = '';
  /** The last line on stdout that is not a message, shortened. */
  noise = '';
  /** Why we ended the connection. */
  closeReason: Error | undefined;

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
    // a child that could not be started has no pid, and never emits 'exit'
    if (child.pid !== undefined) this.#exited = new Promise((resolve) => child.once('exit', () => resolve()));
    child.once('exit', () => this.#childExited(child));
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
    killAtExit(this);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (!stdin?.writable) throw new PocketError('MCP_CONNECT_FAILED', 'The server process has ended.');
    if (stdin.writableLength > MAX_UNREAD_MB * 1_024 * 1_024) throw this.#tooMuchUnread();
    // the stream buffers what the pipe has no room for
    const write = (done?: () => void) => stdin.write(serializeMessage(message), done);
    if ('method' in message) write();
    else await this.#answers.send(() => new Promise<void>((resolve) => write(() => resolve())));
  }

  async close(): Promise<void> {
    const child = this.#child;
    if (!child) return;
    child.stdin?.end();
    // a child that has not answered yet has nothing to finish
    if (!(await settlesWithin(this.#hasAnswered ? CLOSE_GRACE_MS : 0, this.#exited))) {
      this.#signalGroup('SIGTERM');
      await settlesWithin(CLOSE_GRACE_MS, this.#exited);
    }
    this.kill();
    await this.#exited;
    this.#finish();
  }

  /** The child and everything it started. */
  kill(): void {
    this.#signalGroup('SIGKILL');
  }

  #childExited(child: ChildProcess): void {
    this.kill(); // processes that the child started
    this.#groupEnded = true;
    // its last messages may still be in the pipe, which a process that left the group may keep open forever
    const timer = setInterval(() => this.#isBehind || this.#finish(), PIPE_GRACE_MS);
    child.once('close', () => this.#finish());
    this.#stopWaiting = () => clearInterval(timer);
  }

  #read(chunk: Buffer): void {
    try {
      this.#deliver(this.#lines.push(chunk));
    } catch (error) {
      this.#closeFor(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** Pauses the child when its messages take long, so that a flood of them does not block this process. */
  #deliver(lines: readonly string[]): void {
    const slices = new TimeSlices();
    for (const [index, line] of lines.entries()) {
      if (this.#closed || this.closeReason) return;
      this.#isBehind = index > 0 && slices.isOver;
      if (this.#isBehind) {
        this.#child?.stdout?.pause();
        setImmediate(() => this.#deliver(lines.slice(index)));
        return;
      }
      this.#deliverLine(line);
    }
    this.#child?.stdout?.resume();
  }

  #deliverLine(line: string): void {
    try {
      const message = readMessage(line);
      if (message) {
        this.#hasAnswered = true;
        this.onmessage?.(message);
      } else this.noise = line.trim().slice(0, NOISE_KEPT) || this.noise;
    } catch (error) {
      this.#report(error);
    }
  }

  #closeFor(error: Error): void {
    if (this.closeReason) return;
    this.closeReason = error;
    this.#report(error);
    this.kill();
  }

  #tooMuchUnread(): PocketError {
    const text = `The server process "${this.#command.command}" has stopped reading its stdin: ${MAX_UNREAD_MB} MB are buffered; nothing is sent until it reads again.`;
    return new PocketError('MCP_REQUEST_FAILED', text);
  }

  #report(error: unknown): void {
    this.onerror?.(error instanceof Error ? error : new Error(String(error)));
  }

  #finish(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#stopWaiting?.();
    hasEnded(this);
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
      // ESRCH: no process of the group is left
      if (error instanceof Error && !('code' in error && error.code === 'ESRCH')) this.onerror?.(error);
    }
  }
}

/** How this machine reaches the network: behind a proxy, `npx some-server` cannot fetch anything without it. */
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
