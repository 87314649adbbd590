// A remote A2A agent as a tool `{name}-message`, with one conversation per agent that uses it.
import { randomUUID } from 'node:crypto';
import type { CallToolResult, Tool } from '@modelcontextprotocol/client';
import {
  abortable,
  errorText,
  isPocketError,
  isRecord,
  type Logger,
  PocketError,
  settlesWithin,
  startDeadline,
  stderrLogger,
  warnOnce,
} from '@pocket-agent/kit';
import type { Judgement, ListWait, ToolCallContext, ToolSource } from 'pocket-agent';
import { currentRun, DEFAULT_WAIT_MS, type ElicitationHandler, validToolName } from 'pocket-agent/internal';
import { A2aError, explainFetchError } from '../client/a2a-error.ts';
import type { OutgoingMessage } from '../client/write-request.ts';
import type { Part } from '../wire/task.ts';
import { checkRemoteAgentOptions, type RemoteAgentOptions } from './remote-agent-options.ts';
import { answerApprovals } from './remote-approvals.ts';
import type { RemoteCall } from './remote-call.ts';
import { type Conversation, RemoteConversations, recipientOf } from './remote-conversations.ts';
import type { RemoteLink } from './remote-link.ts';
import { remoteResult } from './remote-result.ts';

const CARD_MS = 30_000;
const RETRY_MS = 5_000;
const MAX_NAME_LENGTH = 100;
/** Time for canceling the tasks of aborted calls. */
const CLOSE_MS = 1_000;
/** Room for a file of 10 MB as base64. */
const MAX_STRING_BYTES = 14_000_000;
const filesSchema = {
  type: 'array',
  items: { type: 'string' },
  description: 'Files to send along: paths in the folder for files, such as report.pdf',
};
/** Questions of one task for the person. */
const MAX_QUESTIONS = 100;

interface QuestionContext {
  conversation: Conversation;
  signal: AbortSignal;
  elicit: ElicitationHandler;
  /** How many questions of this task the person has answered. */
  round: number;
}

/** For example `tools: [remoteAgent('https://agents.example.com')]`. */
export function remoteAgent(target: string | RemoteAgentOptions): ToolSource {
  return new RemoteAgent(typeof target === 'string' ? { url: target } : { ...target });
}

class RemoteAgent implements ToolSource {
  readonly name: string;
  readonly #options: RemoteAgentOptions & { logger: Logger };
  readonly #conversations = new RemoteConversations();
  /** Calls, and cancellations after them. */
  readonly #pending = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();
  #link: Promise<RemoteLink> | undefined;
  #tool: Tool | undefined;
  /** The name in the card. */
  #cardName: string | undefined;
  /** Time of the last failed attempt to read the card. */
  #failedAt: number | undefined;
  /** The card took longer than `waitMs` and has not arrived yet; runs do not wait for it. */
  #isSlow = false;
  #revision = 0;

  constructor(options: RemoteAgentOptions) {
    checkRemoteAgentOptions(options);
    this.#options = { ...options, logger: options.logger ?? stderrLogger() };
    this.name = options.name ?? new URL(options.url).host;
  }

  get #maxResultBytes(): number {
    return this.#options.maxResultBytes ?? 262_144;
  }

  /** The name in messages: the configured name, the name in the card, or the host. */
  get #label(): string {
    return this.#options.name ?? this.#cardName ?? this.name;
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
      await abortable<unknown>(wait === 'all' ? opening : this.#waitForCard(opening), signal);
    } catch (error) {
      signal.throwIfAborted();
      if (isPocketError(error, 'CONFIG_INVALID')) throw error;
      this.#options.logger.warn(errorText(error));
    }
    return this.#tool ? [this.#tool] : [];
  }

  /** Settles with `opening`, or after `waitMs`. */
  async #waitForCard(opening: Promise<unknown>): Promise<void> {
    const { waitMs = DEFAULT_WAIT_MS } = this.#options;
    if ((await settlesWithin(this.#isSlow ? 0 : waitMs, opening)) || this.#isSlow) return;
    this.#isSlow = true;
    const { logger } = this.#options;
    const reason = `The A2A agent ${this.#label} has not sent its card within ${waitMs} ms`;
    logger.warn(`${reason}. Runs continue without it ("waitMs"); its tool joins when the card arrives.`);
    opening.catch((error) => logger.warn(errorText(error)));
  }

  judge(): Judgement {
    const { capability, approvals } = this.#options;
    const asks = approvals ? ({ asksItself: true } as const) : {};
    return capability ? { capability, from: 'config', ...asks } : { capability: 'delete', from: 'nothing', ...asks };
  }

  async callTool(_name: string, args: Record<string, unknown>, context: ToolCallContext): Promise<CallToolResult> {
    const { message, taskId, data, files } = args;
    const { folder } = this.#options;
    if (typeof message !== 'string')
      throw new PocketError('TOOL_ARGUMENTS_INVALID', `${this.#label} needs a string "message".`);
    const conversation = this.#conversations.forCall(context, this.#options.oauth?.onLogin !== undefined);
    let to = recipientOf(conversation, taskId === undefined ? undefined : String(taskId), this.#label);
    let parts: Part[] = [
      { text: message },
      ...(isRecord(data) ? [{ data, mediaType: 'application/json' }] : []),
      ...(folder && Array.isArray(files)
        ? await (await import('./remote-files.ts')).readFiles(folder, files.map(String))
        : []),
    ];
    for (let round = 0; ; round++) {
      const call = await this.#send(conversation, { messageId: randomUUID(), parts, ...to }, context);
      const { elicit, signal } = context;
      const answer = elicit && (await this.#askUser(call, { conversation, elicit, signal, round }));
      if (!answer) return remoteResult(call.collected, { name: this.#label, maxBytes: this.#maxResultBytes, folder });
      parts = answer;
      to = recipientOf(conversation, call.collected.taskId, this.#label);
    }
  }

  /** Sends one message and waits until the agent has answered it. */
  async #send(conversation: Conversation, message: OutgoingMessage, context: ToolCallContext): Promise<RemoteCall> {
    const { timeoutMs = 600_000 } = this.#options;
    const deadline = startDeadline({
      what: `The message to ${this.#label}`,
      signals: [context.signal, this.#closing.signal],
      timeoutMs,
    });
    try {
      // after an abort, canceling the task does not delay the caller
      const answer = this.#track(this.#converse(conversation, message, { ...context, signal: deadline.signal }));
      return await abortable(answer, deadline.signal);
    } finally {
      deadline.release();
    }
  }

  /** The answer of the person to a question of the agent; undefined if there is no question, or no answer. */
  async #askUser(
    call: RemoteCall,
    { conversation, elicit, signal, round }: QuestionContext,
  ): Promise<Part[] | undefined> {
    const { status, taskId = '' } = call.collected;
    if (status?.state !== 'input-required') return undefined;
    const { askPerson } = await import('./remote-questions.ts');
    const ended = AbortSignal.any([signal, this.#closing.signal]);
    try {
      if (round === MAX_QUESTIONS) throw new PocketError('TOOL_FAILED', `${this.#label} asked too many questions.`);
      const question = { name: this.#label, parts: status.message?.parts ?? [], elicit, signal: ended };
      const answer = await abortable(askPerson(question), ended);
      if (answer !== 'declined') return answer;
      throw new PocketError('TOOL_FAILED', `The question of ${this.#label} was declined; its task was canceled.`);
    } catch (error) {
      conversation.waiting.delete(taskId);
      void this.#track(call.cancel());
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#closing.abort(new PocketError('AGENT_CLOSED', `The connection to ${this.#label} was closed.`));
    const link = await this.#link?.catch(() => undefined);
    const timeout = setTimeout(() => link?.close(), CLOSE_MS);
    while (this.#pending.size > 0) await Promise.allSettled(this.#pending);
    clearTimeout(timeout);
    link?.close();
  }

  async #converse(conversation: Conversation, message: OutgoingMessage, context: ToolCallContext): Promise<RemoteCall> {
    const { RemoteCall } = await import('./remote-call.ts');
    let progress = 0;
    const onProgress = (text: string) => context.progress({ progress: ++progress, message: text });
    const link = await abortable(this.#open(), context.signal);
    const maxBytes = this.#options.folder === undefined ? this.#maxResultBytes : MAX_STRING_BYTES;
    const client = await link.clientFor({ caller: context.caller, signal: context.signal, onProgress });
    const { isStreaming } = link;
    const call = new RemoteCall({ client, isStreaming }, { signal: context.signal, maxBytes, onProgress });
    try {
      await call.send(message);
      const { approvals = false } = this.#options;
      const approvalContext = {
        name: this.#label,
        approvals,
        run: currentRun(),
        warn: (text: string) => this.#warnOnce(text),
      };
      await abortable(answerApprovals(call, approvalContext), context.signal);
    } catch (error) {
      // cancel the task, because it is no longer followed
      if (context.signal.aborted || isFinal(error)) void this.#track(call.cancel());
      else if (error instanceof A2aError) this.#forget(link);
      if (isPocketError(error) && error.details?.statusCode !== undefined) this.#warnOnce(errorText(error));
      throw this.#explain(error, context.signal);
    }
    const { collected } = call;
    conversation.contextId = collected.contextId ?? conversation.contextId;
    if (message.taskId) conversation.waiting.delete(message.taskId);
    if (collected.taskId && collected.status?.state === 'input-required')
      conversation.waiting.set(collected.taskId, collected.contextId);
    return call;
  }

  #open(): Promise<RemoteLink> {
    const { url, token, headers = {}, allowHosts = [], trustedKeys, folder, oauth, extensions } = this.#options;
    const all = token === undefined ? headers : { ...headers, authorization: `Bearer ${token}` };
    this.#link ??= import('./remote-link.ts')
      .then(({ openLink }) => {
        const deadline = startDeadline({
          what: `Reading the card of ${this.#label}`,
          signals: [this.#closing.signal],
          timeoutMs: CARD_MS,
        });
        // JSON may write one byte of a string in six
        const maxStringBytes = folder === undefined ? 6 * (this.#maxResultBytes + 1) : MAX_STRING_BYTES;
        return openLink(
          {
            url,
            headers: all,
            allowHosts,
            maxStringBytes,
            trustedKeys,
            oauth,
            extensions,
            closing: this.#closing.signal,
          },
          deadline.signal,
        ).finally(() => deadline.release());
      })
      .then((link) => {
        this.#failedAt = undefined;
        this.#cardName = link.name.replace(/\p{C}+/gu, ' ').slice(0, MAX_NAME_LENGTH);
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

  #describe({ name: cardName, description }: RemoteLink): Tool {
    const { name = cardName, folder } = this.#options;
    return {
      name: validToolName(`${name}-message`),
      description: `Send a message to the ${name} agent. Purpose of the ${name} agent: ${description}`,
      inputSchema: {
        type: 'object',
        properties: {
          message: { type: 'string', description: `The message to send to the ${name} agent` },
          data: { type: 'object', description: 'JSON for the agent, beside the message' },
          ...(folder === undefined ? {} : { files: filesSchema }),
          taskId: { type: 'string', description: 'Only to answer a question of the agent: the task that asked it' },
        },
        required: ['message'],
        additionalProperties: false,
      },
    };
  }

  #warnOnce(text: string): void {
    warnOnce({ logger: this.#options.logger, about: this, text });
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
    const located = this.#label === host ? agent : `${agent} at ${host}`;
    if (!(cause instanceof A2aError))
      return new PocketError('TOOL_FAILED', `${located} did not answer: ${errorText(cause)}`, { cause });
    const { code, message, retryAfterMs } = cause;
    switch (code) {
      case 'RATE_LIMITED':
        return new PocketError(code, `${located}: ${message}`, { cause, details: { retryAfterMs } });
      case 'PROTOCOL':
        return new PocketError('TOOL_FAILED', `${agent} broke the A2A protocol: ${message}`, { cause });
      case 'UNREACHABLE':
      case 'TIMEOUT':
        return new PocketError('TOOL_FAILED', `${located} did not answer: ${message}`, { cause });
      default:
        return new PocketError('TOOL_FAILED', `${located}: ${message}`, { cause });
    }
  }
}

/** Whether the agent answered with an error, so that following its task is pointless. */
function isFinal(error: unknown): boolean {
  if (error instanceof A2aError) return error.code === 'PROTOCOL' || error.code === 'TOO_LARGE';
  return isPocketError(error, 'TOOL_FAILED');
}
