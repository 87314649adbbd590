// The events of a run as events of AG-UI, and the messages that they make: a page that comes back gets those as a snapshot, and
// what comes after it.
import { isPublicError, publicErrorText } from '@pocket-agent/kit';
import type { AgentEvent, Message } from 'pocket-agent';
import { sourceChunk, urlOf } from '../chat/ui-parts.ts';
import type { AskedQuestion, Encoder, Frame } from '../live/live-run.ts';
import { callKey } from '../live/open-calls.ts';
import { type AguiMessage, fileActivity, HIDDEN, resultContent, resultId, toolCallOf } from './agui-messages.ts';

interface AguiEventsOptions {
  emit(event: object): void;
  /** The conversation with the question that is answered. */
  messages: AguiMessage[];
  /** Whether the page sees arguments and results of a tool. */
  showsTool(name: string): boolean;
  runId: string;
}

export interface AguiRun {
  threadId: string;
  runId: string;
}

type Block = 'text' | 'reasoning';
type EventOf<Type extends AgentEvent['type']> = Extract<AgentEvent, { type: Type }>;

/** The form that an answer to an approval has. */
const ANSWER_SCHEMA = {
  type: 'object',
  properties: {
    approved: { type: 'boolean' },
    editedArgs: { type: 'object', description: 'Arguments that take the place of those of the call' },
    reason: { type: 'string', description: 'Why it is denied, for the model' },
  },
  required: ['approved'],
};

export class AguiEvents implements Encoder {
  /** The runs of the client that this run answers: one, and one more after each interrupt. */
  readonly runIds = new Set<string>();
  readonly #emit: (event: object) => void;
  readonly #showsTool: (name: string) => boolean;
  readonly #messages: AguiMessage[];
  readonly #id = crypto.randomUUID();
  readonly #shown = new Set<string>();
  #steps = 0;
  #parts = 0;
  #open: { kind: Block; id: string } | undefined;
  #output: unknown;
  #last: object = { type: 'RUN_FINISHED', outcome: { type: 'cancelled' } };

  constructor({ emit, messages, showsTool, runId }: AguiEventsOptions) {
    this.runIds.add(runId);
    this.#emit = emit;
    this.#messages = messages;
    this.#showsTool = showsTool;
  }

  /** `questions` are those that are open when the response ends. */
  frame(run: AguiRun, questions: () => AskedQuestion[]): Frame {
    return {
      first: [runStarted(run)],
      end: (isOver) => {
        const last = isOver
          ? this.#last
          : {
              type: 'RUN_FINISHED',
              outcome: { type: 'interrupt', interrupts: questions().map((question) => this.#interrupt(question)) },
            };
        return [JSON.stringify({ ...last, ...run })];
      },
    };
  }

  /** For a page that comes back: all messages so far. */
  frameWithMessages(run: AguiRun, questions: () => AskedQuestion[]): Frame {
    const frame = this.frame(run, questions);
    return {
      ...frame,
      first: [
        runStarted(run),
        { type: 'MESSAGES_SNAPSHOT', messages: structuredClone(this.#messages) },
        ...(this.#output === undefined ? [] : [outputDelta(this.#output)]),
        ...(this.#open ? blockStart(this.#open) : []),
      ],
    };
  }

  event(event: AgentEvent): void {
    const isOwn = event.meta.path.length === 1;
    switch (event.type) {
      case 'tool_progress':
        this.#progress(event);
        break;
      case 'tool_result':
        this.#result(event);
        break;
      case 'tool_call':
        if (isOwn && event.data.parentToolCallId === undefined)
          this.#call(callKey(event.meta.path, event.data.toolCallId), event.data.toolName, event.data.arguments);
        break;
      default:
        if (isOwn) this.#ownEvent(event);
    }
  }

  asked({ key, request }: AskedQuestion): void {
    this.#endBlock();
    if (!this.#shown.has(key)) this.#call(key, request.tool, request.arguments);
  }

  failed(error: unknown): void {
    this.#endBlock();
    const code = isPublicError(error) ? { code: error.code } : {};
    this.#last = { type: 'RUN_ERROR', message: publicErrorText(error), ...code };
  }

  aborted(): void {
    this.#endBlock();
  }

  #interrupt({ id, key, request }: AskedQuestion): object {
    const { tool, capability, arguments: args, path } = request;
    return {
      id,
      reason: 'tool_call',
      message: `May ${tool} run?`,
      toolCallId: key,
      responseSchema: ANSWER_SCHEMA,
      metadata: { tool, capability, path, ...(this.#showsTool(tool) ? { arguments: args } : {}) },
    };
  }

  #ownEvent(event: AgentEvent): void {
    switch (event.type) {
      case 'step_started':
        this.#steps++;
        break;
      case 'text_delta':
        this.#delta('text', event.data.delta);
        break;
      case 'reasoning_delta':
        this.#delta('reasoning', event.data.delta);
        break;
      case 'output_delta':
        this.#setOutput(event.data.value);
        break;
      case 'source':
        this.#activity({ id: this.#nextId(), role: 'activity', activityType: 'SOURCE', content: sourceOf(event.data) });
        break;
      case 'new_message':
        this.#files(event.data);
        break;
      case 'step_finished':
        this.#endBlock();
        break;
      case 'run_finished':
        this.#finish(event);
        break;
    }
  }

  /** All text and all calls of a step are one message. */
  get #answerId(): string {
    return `${this.#id}-${this.#steps}`;
  }

  #nextId(): string {
    return `${this.#answerId}-${++this.#parts}`;
  }

  #delta(kind: Block, delta: string): void {
    if (this.#open?.kind !== kind) {
      this.#endBlock();
      this.#open = { kind, id: kind === 'text' ? this.#answerId : this.#nextId() };
      for (const event of blockStart(this.#open)) this.#emit(event);
    }
    const { id } = this.#open;
    const message = kind === 'text' ? this.#answer() : this.#reasoning(id);
    message.content = (message.content ?? '') + delta;
    this.#emit({ type: kind === 'text' ? 'TEXT_MESSAGE_CONTENT' : 'REASONING_MESSAGE_CONTENT', messageId: id, delta });
  }

  #endBlock(): void {
    if (!this.#open) return;
    const { kind, id } = this.#open;
    const types = kind === 'text' ? ['TEXT_MESSAGE_END'] : ['REASONING_MESSAGE_END', 'REASONING_END'];
    for (const type of types) this.#emit({ type, messageId: id });
    this.#open = undefined;
  }

  #answer(): Extract<AguiMessage, { role: 'assistant' }> {
    const id = this.#answerId;
    const found = this.#messages.findLast((message) => message.id === id);
    if (found?.role === 'assistant') return found;
    const message: AguiMessage = { id, role: 'assistant' };
    this.#messages.push(message);
    return message;
  }

  #reasoning(id: string): Extract<AguiMessage, { role: 'reasoning' }> {
    const found = this.#messages.findLast((message) => message.id === id);
    if (found?.role === 'reasoning') return found;
    const message = { id, role: 'reasoning' as const, content: '' };
    this.#messages.push(message);
    return message;
  }

  #call(key: string, name: string, input: unknown): void {
    this.#endBlock();
    this.#shown.add(key);
    const call = toolCallOf(key, name, this.#showsTool(name) ? input : {});
    const answer = this.#answer();
    answer.toolCalls = [...(answer.toolCalls ?? []), call];
    this.#emit({ type: 'TOOL_CALL_START', toolCallId: key, toolCallName: name, parentMessageId: answer.id });
    this.#emit({ type: 'TOOL_CALL_ARGS', toolCallId: key, delta: call.function.arguments });
    this.#emit({ type: 'TOOL_CALL_END', toolCallId: key });
  }

  #progress({ data, meta }: EventOf<'tool_progress'>): void {
    const { toolCallId, toolName, progress, total, message } = data;
    const key = callKey(meta.path, toolCallId);
    if (!this.#shown.has(key)) return;
    const text = this.#showsTool(toolName) ? message : undefined;
    const content = { toolCallId: key, toolName, progress, total, message: text };
    this.#activity({ id: `progress-${key}`, role: 'activity', activityType: 'TOOL_PROGRESS', content });
  }

  #result({ data, meta }: EventOf<'tool_result'>): void {
    const toolCallId = callKey(meta.path, data.toolCallId);
    if (!this.#shown.has(toolCallId)) return;
    const { isError, toolName, toolResultContent } = data;
    const hidden = isError ? HIDDEN.error : HIDDEN.content;
    const result = {
      toolCallId,
      role: 'tool' as const,
      content: this.#showsTool(toolName) ? resultContent(toolResultContent) : hidden,
      ...(isError ? { metadata: { isError: true as const } } : {}),
    };
    this.#addResult({ id: resultId(toolCallId), ...result });
    this.#emit({ type: 'TOOL_CALL_RESULT', messageId: resultId(toolCallId), ...result });
  }

  /** After the message that made the call and the results of its other calls, as clients do it. */
  #addResult(result: Extract<AguiMessage, { role: 'tool' }>): void {
    const messages = this.#messages;
    const made = (message: AguiMessage) =>
      message.role === 'assistant' && message.toolCalls?.some(({ id }) => id === result.toolCallId);
    let index = messages.findLastIndex(made) + 1;
    while (messages[index]?.role === 'tool') index++;
    messages.splice(index, 0, result);
  }

  /** Images and other files that the model made. */
  #files(message: Message): void {
    if (message.role !== 'assistant') return;
    for (const part of message.content) {
      const url = part.type === 'file' ? urlOf(part) : undefined;
      if (part.type === 'file' && url) this.#activity(fileActivity(this.#nextId(), { mediaType: part.mediaType, url }));
    }
  }

  #activity(message: AguiMessage): void {
    if (message.role !== 'activity') return;
    const { id, activityType, content } = message;
    const index = this.#messages.findIndex((each) => each.id === id);
    if (index < 0) this.#messages.push(message);
    else this.#messages[index] = message;
    this.#emit({ type: 'ACTIVITY_SNAPSHOT', messageId: id, activityType, content });
  }

  #setOutput(value: unknown): void {
    this.#output = value;
    this.#emit(outputDelta(value));
  }

  #finish({ data }: EventOf<'run_finished'>): void {
    this.#endBlock();
    const { answer, totals } = data;
    if (typeof answer !== 'string') this.#setOutput(answer);
    const { inputTokens, outputTokens, reasoningTokens, cachedInputTokens } = totals.usage;
    const usage = {
      inputTokens,
      outputTokens,
      totalTokens: inputTokens + outputTokens,
      reasoningTokens,
      cachedInputTokens,
    };
    this.#last = { type: 'RUN_FINISHED', result: answer, outcome: { type: 'success' }, usage: [usage] };
  }
}

export function runStarted(run: AguiRun): object {
  return { type: 'RUN_STARTED', protocolVersion: '1.0', ...run };
}

function outputDelta(value: unknown): object {
  return { type: 'STATE_DELTA', delta: [{ op: 'add', path: '/output', value }] };
}

function blockStart({ kind, id }: { kind: Block; id: string }): object[] {
  if (kind === 'text') return [{ type: 'TEXT_MESSAGE_START', messageId: id, role: 'assistant' }];
  return [
    { type: 'REASONING_START', messageId: id },
    { type: 'REASONING_MESSAGE_START', messageId: id, role: 'reasoning' },
  ];
}

function sourceOf(source: EventOf<'source'>['data']): object {
  return sourceChunk(source);
}
