// A remote A2A agent as a tool `{name}-message`, with one conversation per agent that uses it.
import { randomUUID } from 'node:crypto';
import type { CallToolResult, Tool } from '@modelcontextprotocol/client';
import {
  abortable,
  booleanRule,
  errorText,
  httpUrlHint,
  isPocketError,
  LONGEST_TIMER_MS,
  type Logger,
  OptionSet,
  PocketError,
  positiveNumber,
  secretStringMap,
  startDeadline,
  stderrLogger,
  stringRule,
} from '@pocket-agent/kit';
import type { Capability, Judgement, ListWait, ToolCallContext, ToolSource } from 'pocket-agent';
import { capabilities, currentRun, DEFAULT_WAIT_MS, isCapability, validToolName } from 'pocket-agent/internal';
import { A2aError, explainFetchError } from '../client/a2a-error.ts';
import type { OutgoingMessage } from '../client/task.ts';
import { answerApprovals } from './remote-approvals.ts';
import type { RemoteLink } from './remote-link.ts';
import { remoteResult } from './remote-result.ts';

export interface RemoteAgentOptions {
  /** The URL of the agent or of its card. */
  url: string;
  /** Default: the name in the card. */
  name?: string;
  /** Bearer token, sent to the origin of `url` only. */
  token?: string;
  headers?: Readonly<Record<string, string>>;
  /** Time for one message and its answer. Default 600,000. */
  timeoutMs?: number;
  /** How long a run waits for the card before it continues without this agent, which joins later. Default 10,000. */
  waitMs?: number;
  /** Further hosts the card may name although their address is private; they get the credentials, too. */
  allowHosts?: readonly string[];
  /** The most powerful effect a message can have. Default delete, the safest assumption. */
  capability?: Capability;
  /** True for a trusted Pocket Agent: its approval questions go to the approver of the caller. Default: they are refused. */
  approvals?: boolean;
  /** Longer answers are cut. Default 262,144. */
  maxResultBytes?: number;
  /** Gets warnings, for example if the agent cannot be reached. Default: stderr. */
  logger?: Logger;
}

const remoteAgentOptions = new OptionSet<RemoteAgentOptions>('remoteAgent', {
  url: stringRule,
  name: stringRule,
  token: { ...stringRule, isSecret: true },
  headers: secretStringMap,
  timeoutMs: positiveNumber,
  waitMs: positiveNumber,
  allowHosts: { expected: 'a list of hosts', accepts: Array.isArray },
  capability: { expected: `one of ${capabilities.join(', ')}`, accepts: isCapability },
  approvals: booleanRule,
  maxResultBytes: positiveNumber,
  logger: true,
});

interface Conversation {
  contextId?: string | undefined;
  /** Tasks that wait for an answer, with their context ids. */
  waiting: Map<string, string | undefined>;
}

const CARD_MS = 30_000;
const RETRY_MS = 5_000;
const MAX_NAME_LENGTH = 100;
/** Time for canceling the tasks of aborted calls. */
const CLOSE_MS = 1_000;
const MAX_CONVERSATIONS = 1_000;

/** For example `tools: [remoteAgent('https://agents.example.com')]`. */
export function remoteAgent(where: string | RemoteAgentOptions): ToolSource {
  return new RemoteAgent(typeof where === 'string' ? { url: where } : { ...where });
}

class RemoteAgent implements ToolSource {
  readonly name: string;
  readonly #options: RemoteAgentOptions;
  readonly #conversations = new Map<string, Conversation>();
  /** Calls, and cancellations after them. */
  readonly #pending = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();
  #link: Promise<RemoteLink> | undefined;
  #tool: Tool | undefined;
  /** The name in the card. */
  #ownName: string | undefined;
  /** Time of the last failed attempt to read the card. */
  #failedAt: number | undefined;
  /** The card took longer than `waitMs` and has not arrived yet; runs do not wait for it. */
  #isSlow = false;
  #revision = 0;
  #wasWarned = false;

  constructor(options: RemoteAgentOptions) {
    remoteAgentOptions.check(options);
    const { url = '' } = options;
    const instead = httpUrlHint(url);
    if (instead) {
      const problem = `remoteAgent needs the address of an A2A agent, got "${url}". ${instead}`;
      throw new PocketError('CONFIG_INVALID', problem);
    }
    this.#options = { logger: stderrLogger(), ...options };
    this.name = options.name ?? new URL(options.url).host;
  }

  get #maxResultBytes(): number {
    return this.#options.maxResultBytes ?? 262_144;
  }

  /** The name for messages: the configured one, that in the card, or the host. */
  get #label(): string {
    return this.#options.name ?? this.#ownName ?? this.name;
  }

  get revision(): number {
    return this.#revision;
  }

  refresh(isRunStart = false): void {
    if (this.#failedAt === undefined) return;
    if (isRunStart) this.#revision++; // makes the run list the tools again
    if (Date.now() - this.#failedAt < RETRY_MS) return;
    this.#failedAt = Date.now();
    this.#open().then(
      () => this.#revision++,
      () => {}, // the next refresh tries again
    );
  }

  /** Without its card an agent has no tools; later runs try again. */
  async listTools(signal = this.#closing.signal, wait: ListWait = 'all'): Promise<Tool[]> {
    try {
      const opening = this.#open();
      await abortable<unknown>(wait === 'all' ? opening : this.#arrival(opening), signal);
    } catch (error) {
      signal.throwIfAborted();
      if (isPocketError(error, 'CONFIG_INVALID')) throw error;
      this.#options.logger?.warn(errorText(error));
    }
    return this.#tool ? [this.#tool] : [];
  }

  /** Settles with `opening`, or after `waitMs`. */
  async #arrival(opening: Promise<unknown>): Promise<void> {
    const { waitMs = DEFAULT_WAIT_MS } = this.#options;
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, this.#isSlow ? 0 : Math.min(waitMs, LONGEST_TIMER_MS));
    const isLate = await Promise.race([opening.then(() => false), late.promise.then(() => true)]).finally(() =>
      clearTimeout(timer),
    );
    if (!isLate || this.#isSlow) return;
    this.#isSlow = true;
    const { logger } = this.#options;
    const reason = `The A2A agent ${this.#label} has not sent its card within ${waitMs} ms`;
    logger?.warn(`${reason}. Runs continue without it ("waitMs"); its tool joins when the card arrives.`);
    opening.catch((error) => logger?.warn(errorText(error)));
  }

  judge(): Judgement {
    const { capability } = this.#options;
    return capability ? { capability, from: 'config' } : { capability: 'delete', from: 'nothing' };
  }

  async callTool(_name: string, args: Record<string, unknown>, context: ToolCallContext): Promise<CallToolResult> {
    const { message, taskId } = args;
    if (typeof message !== 'string')
      throw new PocketError('TOOL_ARGUMENTS_INVALID', `${this.#label} needs a string "message".`);
    const conversation = this.#conversation(context);
    const { contextId } = conversation;
    const to = taskId === undefined ? { contextId } : this.#waitingTask(conversation, String(taskId));
    const { timeoutMs = 600_000 } = this.#options;
    const what = `The message to ${this.#label}`;
    const deadline = startDeadline(what, [context.signal, this.#closing.signal], timeoutMs);
    const sent = { messageId: randomUUID(), parts: [{ text: message }], ...to };
    try {
      // after an abort, canceling the task does not delay the caller
      const answer = this.#track(this.#converse(conversation, sent, { ...context, signal: deadline.signal }));
      return await abortable(answer, deadline.signal);
    } finally {
      deadline.release();
    }
  }

  async close(): Promise<void> {
    this.#closing.abort(new PocketError('AGENT_CLOSED', `The connection to ${this.#label} was closed.`));
    const link = await this.#link?.catch(() => undefined);
    const late = setTimeout(() => link?.close(), CLOSE_MS);
    while (this.#pending.size > 0) await Promise.allSettled(this.#pending);
    clearTimeout(late);
    link?.close();
  }

  async #converse(
    conversation: Conversation,
    message: OutgoingMessage,
    context: ToolCallContext,
  ): Promise<CallToolResult> {
    const { RemoteCall } = await import('./remote-call.ts');
    let progress = 0;
    const onProgress = (text: string) => context.progress({ progress: ++progress, message: text });
    const link = await abortable(this.#open(), context.signal);
    const maxBytes = this.#maxResultBytes;
    const call = new RemoteCall(link, { signal: context.signal, maxBytes, onProgress });
    try {
      await call.send(message);
      const { approvals = false } = this.#options;
      const asker = {
        name: this.#label,
        approvals,
        run: currentRun(),
        warn: (text: string) => this.#warnOnce(text),
      };
      await abortable(answerApprovals(call, asker), context.signal);
    } catch (error) {
      // a task that is not followed anymore is canceled
      if (context.signal.aborted || isFinal(error)) void this.#track(call.cancel());
      else if (error instanceof A2aError) this.#forget(link);
      throw this.#explain(error, context.signal);
    }
    const { collected } = call;
    conversation.contextId = collected.contextId ?? conversation.contextId;
    if (message.taskId) conversation.waiting.delete(message.taskId);
    if (collected.taskId && collected.status?.state === 'input-required')
      conversation.waiting.set(collected.taskId, collected.contextId);
    return remoteResult(collected, { name: this.#label, maxBytes });
  }

  #open(): Promise<RemoteLink> {
    const { url, token, headers = {}, allowHosts = [] } = this.#options;
    const all = token === undefined ? headers : { ...headers, authorization: `Bearer ${token}` };
    this.#link ??= import('./remote-link.ts')
      .then(({ openLink }) => {
        const late = startDeadline(`Reading the card of ${this.#label}`, [this.#closing.signal], CARD_MS);
        // JSON may write one byte of a string in six
        const maxStringBytes = 6 * (this.#maxResultBytes + 1);
        return openLink({ url, headers: all, allowHosts, maxStringBytes }, late.signal).finally(() => late.release());
      })
      .then((link) => {
        this.#failedAt = undefined;
        this.#ownName = link.name.replace(/\p{C}+/gu, ' ').slice(0, MAX_NAME_LENGTH);
        this.#tool = this.#describe(link);
        if (this.#isSlow) this.#revision++; // runs have started without it
        this.#isSlow = false;
        return link;
      })
      .catch((error) => {
        this.#link = undefined;
        this.#failedAt = Date.now();
        throw this.#explain(error, this.#closing.signal);
      });
    return this.#link;
  }

  /** The next message reads the card again, because the agent may have moved. */
  #forget(link: RemoteLink): void {
    if (this.#pending.size > 1) return; // other calls use it
    this.#link = undefined;
    link.close();
  }

  #waitingTask({ waiting }: Conversation, taskId: string): { taskId: string; contextId: string | undefined } {
    if (waiting.has(taskId)) return { taskId, contextId: waiting.get(taskId) };
    throw new PocketError('TOOL_ARGUMENTS_INVALID', `${this.#label} has no task "${taskId}" that waits for an answer.`);
  }

  #describe({ name: ownName, description }: RemoteLink): Tool {
    const name = this.#options.name ?? ownName;
    return {
      name: validToolName(`${name}-message`),
      description: `Send a message to the ${name} agent. Purpose of the ${name} agent: ${description}`,
      inputSchema: {
        type: 'object',
        properties: {
          message: { type: 'string', description: `The message to send to the ${name} agent` },
          taskId: { type: 'string', description: 'Only to answer a question of the agent: the task that asked it' },
        },
        required: ['message'],
        additionalProperties: false,
      },
    };
  }

  #conversation({ meta }: ToolCallContext): Conversation {
    // forks of an agent share its tool sources, but not their conversations
    const key = String(meta.context_id ?? '');
    const found = this.#conversations.get(key) ?? { waiting: new Map<string, string | undefined>() };
    this.#conversations.delete(key);
    this.#conversations.set(key, found);
    const [oldest] = this.#conversations.keys();
    if (this.#conversations.size > MAX_CONVERSATIONS && oldest !== undefined) this.#conversations.delete(oldest);
    return found;
  }

  #warnOnce(text: string): void {
    if (this.#wasWarned) return;
    this.#wasWarned = true;
    this.#options.logger?.warn(text);
  }

  #track<Value>(work: Promise<Value>): Promise<Value> {
    const done = () => this.#pending.delete(work);
    this.#pending.add(work);
    work.then(done, done);
    return work;
  }

  #explain(error: unknown, signal: AbortSignal): unknown {
    if (signal.aborted) return signal.reason;
    const cause = explainFetchError(error);
    if (isPocketError(cause)) return cause;
    const { host } = new URL(this.#options.url);
    const agent = `The A2A agent ${this.#label}`;
    if (!(cause instanceof A2aError))
      return new PocketError('TOOL_FAILED', `${agent} at ${host} did not answer: ${errorText(cause)}`, { cause });
    const { code, message, retryAfterMs } = cause;
    switch (code) {
      case 'RATE_LIMITED':
        return new PocketError(code, `${agent} at ${host}: ${message}`, { cause, details: { retryAfterMs } });
      case 'PROTOCOL':
        return new PocketError('TOOL_FAILED', `${agent} broke the A2A protocol: ${message}`, { cause });
      case 'UNREACHABLE':
      case 'TIMEOUT':
        return new PocketError('TOOL_FAILED', `${agent} at ${host} did not answer: ${message}`, { cause });
      default:
        return new PocketError('TOOL_FAILED', `${agent} at ${host}: ${message}`, { cause });
    }
  }
}

/** The agent answered, and following its task makes no sense. */
function isFinal(error: unknown): boolean {
  if (error instanceof A2aError) return error.code === 'PROTOCOL' || error.code === 'TOO_LARGE';
  return isPocketError(error, 'TOOL_FAILED');
}
