// A remote A2A agent as a tool: `{name}-message`, with the conversation kept here.
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
import { capabilities, currentFrame, DEFAULT_WAIT_MS, isCapability, validToolName } from 'pocket-agent/internal';
import { type Message, userMessage } from '../wire/wire.ts';
import { answerApprovals } from './remote-approvals.ts';
import type { RemoteLink } from './remote-link.ts';
import { remoteResult } from './remote-result.ts';

export interface RemoteAgentOptions {
  /** Where the agent is, or its card. */
  url: string;
  /** Instead of the name in the card. */
  name?: string;
  /** Sent as a bearer token, to the origin of `url` only. */
  token?: string;
  headers?: Readonly<Record<string, string>>;
  /** Time for one message and all that comes of it. Default 600,000. */
  timeoutMs?: number;
  /** How long a run waits for the card before it starts without this agent, which joins later. Default 10,000. */
  waitMs?: number;
  /** Hosts that the card may lead to although their address is private; they are sent the credentials as well. */
  allowHosts?: readonly string[];
  /** What sending a message can do at most. Default delete, the most careful. */
  capability?: Capability;
  /** True for an agent of ours: what it wants a yes for is put to whoever approves for the caller. Else it is refused. */
  approvals?: boolean;
  /** Longer answers are cut. Default 262,144. */
  maxResultBytes?: number;
  /** Told when the agent is away. Default: stderr. */
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
  /** Tasks that wait for an answer, with their contexts. */
  waiting: Map<string, string | undefined>;
}

const CARD_MS = 30_000;
const RETRY_MS = 5_000;
const LONGEST_NAME = 100;
/** Time for tasks of aborted calls to be cancelled. */
const CLOSE_MS = 1_000;
const MOST_CONVERSATIONS = 1_000;

/** One line: `tools: [remoteAgent('https://agents.example.com')]`. */
export function remoteAgent(where: string | RemoteAgentOptions): ToolSource {
  return new RemoteAgent(typeof where === 'string' ? { url: where } : { ...where });
}

class RemoteAgent implements ToolSource {
  readonly name: string;
  readonly #options: RemoteAgentOptions;
  readonly #conversations = new Map<string, Conversation>();
  /** Calls, and what is to be done after them. */
  readonly #pending = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();
  #link: Promise<RemoteLink> | undefined;
  #tool: Tool | undefined;
  /** The name in the card. */
  #ownName: string | undefined;
  /** When it was last looked for in vain. */
  #failedAt: number | undefined;
  /** Its card took longer than `waitMs` and has not arrived since: no run waits for it. */
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

  /** For messages: the name in the card, once it was read, says more than an address. */
  get #label(): string {
    return this.#options.name ?? this.#ownName ?? this.name;
  }

  get revision(): number {
    return this.#revision;
  }

  refresh(isRunStart = false): void {
    if (this.#failedAt === undefined) return;
    if (isRunStart) this.#revision++; // so the run lists the tools again, and looks for the agent at once
    if (Date.now() - this.#failedAt < RETRY_MS) return;
    this.#failedAt = Date.now();
    this.#open().then(
      () => this.#revision++,
      () => {}, // it stays away
    );
  }

  /** An agent that is away has no tools; it is looked for again later. */
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

  /** Settles with `opening`, or when a run must not wait any longer. */
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
    logger?.warn(`${reason}. Runs go on without it ("waitMs"); its tool joins when it is there.`);
    opening.catch((error) => logger?.warn(errorText(error)));
  }

  judge(): Judgement {
    const { capability } = this.#options;
    return capability ? { capability, from: 'config' } : { capability: 'delete', from: 'nothing' };
  }

  async callTool(_name: string, args: Record<string, unknown>, context: ToolCallContext): Promise<CallToolResult> {
    const { message, taskId } = args;
    if (typeof message !== 'string')
      throw new PocketError('TOOL_ARGUMENTS_INVALID', `${this.#label} needs a text "message".`);
    const conversation = this.#conversation(context);
    const to = taskId === undefined ? conversation : this.#waitingTask(conversation, String(taskId));
    const { timeoutMs = 600_000 } = this.#options;
    const what = `The message to ${this.#label}`;
    const deadline = startDeadline(what, [context.signal, this.#closing.signal], timeoutMs);
    const sent = userMessage([{ text: message }], to);
    try {
      // what must still be done for a call that was given up, such as cancelling its task, does not hold up the caller
      const answer = this.#track(this.#converse(conversation, sent, { ...context, signal: deadline.signal }));
      return await abortable(answer, deadline.signal);
    } finally {
      deadline.release();
    }
  }

  async close(): Promise<void> {
    this.#closing.abort(new PocketError('AGENT_CLOSED', `The way to ${this.#label} was closed.`));
    const link = await this.#link?.catch(() => undefined);
    const late = setTimeout(() => link?.close(), CLOSE_MS);
    while (this.#pending.size > 0) await Promise.allSettled(this.#pending);
    clearTimeout(late);
    link?.close();
  }

  async #converse(conversation: Conversation, message: Message, context: ToolCallContext): Promise<CallToolResult> {
    const { RemoteCall } = await import('./remote-call.ts');
    let progress = 0;
    const tell = (text: string) => context.progress({ progress: ++progress, message: text });
    const link = await abortable(this.#open(), context.signal);
    const maxBytes = this.#maxResultBytes;
    const call = new RemoteCall(link, { signal: context.signal, maxBytes, tell });
    try {
      await call.send(message);
      const { approvals = false } = this.#options;
      const asker = {
        name: this.#label,
        approvals,
        frame: currentFrame(),
        warn: (text: string) => this.#warnOnce(text),
      };
      await abortable(answerApprovals(call, asker), context.signal);
    } catch (error) {
      // the task has no follower any more
      if (context.signal.aborted || isPocketError(error, 'TOOL_FAILED')) void this.#track(call.cancel());
      else if (!isPocketError(error)) this.#forget(link);
      throw this.#explain(error, context.signal);
    }
    conversation.contextId = call.contextId ?? conversation.contextId;
    if (message.taskId) conversation.waiting.delete(message.taskId);
    if (call.taskId && call.status?.state === 'TASK_STATE_INPUT_REQUIRED')
      conversation.waiting.set(call.taskId, call.contextId);
    return remoteResult(call, { name: this.#label, maxBytes });
  }

  #open(): Promise<RemoteLink> {
    const { url, token, headers = {}, allowHosts = [] } = this.#options;
    const all = token === undefined ? headers : { ...headers, authorization: `Bearer ${token}` };
    this.#link ??= import('./remote-link.ts')
      .then(({ openLink }) => {
        const late = startDeadline(`Reading the card of ${this.#label}`, [this.#closing.signal], CARD_MS);
        // in JSON, one byte of a string may take six
        const maxStringBytes = 6 * (this.#maxResultBytes + 1);
        return openLink({ url, headers: all, allowHosts, maxStringBytes }, late.signal).finally(() => late.release());
      })
      .then((link) => {
        this.#failedAt = undefined;
        this.#ownName = link.name.replace(/\p{C}+/gu, ' ').slice(0, LONGEST_NAME);
        this.#tool = this.#describe(link);
        if (this.#isSlow) this.#revision++; // runs have gone on without it
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

  /** The card is read again before the next message: the agent may have moved. */
  #forget(link: RemoteLink): void {
    if (this.#pending.size > 1) return; // others are speaking through it
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
    // the forks of an agent share its sources, and must not hear each other
    const key = String(meta.context_id ?? '');
    const found = this.#conversations.get(key) ?? { waiting: new Map<string, string | undefined>() };
    this.#conversations.delete(key);
    this.#conversations.set(key, found);
    const [oldest] = this.#conversations.keys();
    if (this.#conversations.size > MOST_CONVERSATIONS && oldest !== undefined) this.#conversations.delete(oldest);
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
    if (isPocketError(error)) return error;
    const { host } = new URL(this.#options.url);
    return new PocketError(
      'TOOL_FAILED',
      `The A2A agent ${this.#label} at ${host} did not answer: ${errorText(error)}`,
      {
        cause: error,
      },
    );
  }
}
