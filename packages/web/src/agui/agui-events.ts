// Converts the events of a run to AG-UI. Also builds the messages from them: a page that reconnects gets these as a snapshot,
// and then the following events.
import { isPublicError, publicErrorText } from '@pocket-agent/kit';
import { sourceChunk } from '../chat/ui-parts.ts';
import type { ApprovalQuestion, FormQuestion, Frame } from '../live/live-run.ts';
import { type Block, type DataOf, type EncoderOptions, type PageCall, RunEncoder } from '../live/run-encoder.ts';
import {
  type AguiMessage,
  fileActivity,
  hiddenResult,
  type MessageOf,
  resultContent,
  resultId,
  toolCallOf,
} from './agui-messages.ts';

interface AguiEventsOptions extends EncoderOptions {
  /** The conversation up to the current question; for `frameWithMessages`. */
  messages?: AguiMessage[];
  runId?: string;
  /** The prefix of message ids. Default: random. */
  id?: string;
}

/** A run of the client. */
export interface AguiRun {
  threadId: string;
  runId: string;
}

/** What a run is waiting for. */
interface OpenQuestions {
  readonly approvals: ApprovalQuestion[];
  readonly forms: FormQuestion[];
}

/** The payload of an answer to an approval. */
const APPROVAL_SCHEMA = {
  type: 'object',
  properties: {
    approved: { type: 'boolean' },
    editedArgs: { type: 'object', description: 'Arguments to call the tool with instead' },
    reason: { type: 'string', description: 'Why the call is denied; the model reads it' },
  },
  required: ['approved'],
};

export class AguiEvents extends RunEncoder {
  /** Run ids of the client that this run belongs to: the first, and one for each answered interrupt. */
  readonly runIds = new Set<string>();
  readonly #messages: AguiMessage[];
  readonly #id: string;
  #steps = 0;
  #parts = 0;
  #output: unknown;
  #lastEvent: object = { type: 'RUN_FINISHED', outcome: { type: 'cancelled' } };

  constructor({ messages = [], runId, id = crypto.randomUUID(), ...options }: AguiEventsOptions) {
    super(options);
    if (runId !== undefined) this.runIds.add(runId);
    this.#id = id;
    this.#messages = messages;
  }

  /** `open` is read when the response ends. */
  frame(run: AguiRun, open: OpenQuestions): Frame {
    return {
      first: [runStarted(run)],
      end: (isOver) => {
        const last = isOver
          ? this.#lastEvent
          : {
              type: 'RUN_FINISHED',
              outcome: {
                type: 'interrupt',
                interrupts: [
                  ...open.approvals.map((question) => this.#approvalInterrupt(question)),
                  ...open.forms.map(formInterrupt),
                ],
              },
            };
        return [JSON.stringify({ ...last, ...run })];
      },
    };
  }

  /** For a page that reconnects: starts with all messages so far. */
  frameWithMessages(run: AguiRun, open: OpenQuestions): Frame {
    const frame = this.frame(run, open);
    return {
      ...frame,
      first: [
        runStarted(run),
        messagesSnapshot(structuredClone(this.#messages)),
        ...(this.#output === undefined ? [] : [outputDelta(this.#output)]),
        ...(this.openBlock ? blockStart(this.openBlock) : []),
      ],
    };
  }

  /** The form becomes an interrupt at the end of the response. */
  formAsked(): void {
    this.endBlock();
  }

  formClosed(): void {}

  failed(error: unknown): void {
    this.endBlock();
    const code = isPublicError(error) ? { code: error.code } : {};
    this.#lastEvent = { type: 'RUN_ERROR', message: publicErrorText(error), ...code };
  }

  #approvalInterrupt({ id, key, request }: ApprovalQuestion): object {
    const { tool, capability, arguments: args, path } = request;
    return {
      id,
      reason: 'tool_call',
      message: `May ${tool} run?`,
      toolCallId: key,
      responseSchema: APPROVAL_SCHEMA,
      metadata: { tool, capability, path, ...(this.showsDetails(tool) ? { arguments: args } : {}) },
    };
  }

  /** The text and calls of a step form one message. */
  get #answerId(): string {
    return `${this.#id}-${this.#steps}`;
  }

  #nextId(): string {
    return `${this.#answerId}-${++this.#parts}`;
  }

  protected stepStarted(): void {
    this.#steps++;
  }

  protected stepFinished(): void {}

  protected newBlockId(kind: Block['kind']): string {
    return kind === 'text' ? this.#answerId : this.#nextId();
  }

  protected blockStarted(block: Block): void {
    for (const event of blockStart(block)) this.emit(event);
  }

  protected blockDelta({ kind, id: messageId }: Block, delta: string): void {
    const message = kind === 'text' ? this.#answer() : this.#reasoning(messageId);
    message.content = (message.content ?? '') + delta;
    this.emit({ type: kind === 'text' ? 'TEXT_MESSAGE_CONTENT' : 'REASONING_MESSAGE_CONTENT', messageId, delta });
  }

  protected blockEnded({ kind, id: messageId }: Block): void {
    const types = kind === 'text' ? ['TEXT_MESSAGE_END'] : ['REASONING_MESSAGE_END', 'REASONING_END'];
    for (const type of types) this.emit({ type, messageId });
  }

  #answer(): MessageOf<'assistant'> {
    const id = this.#answerId;
    const found = this.#messages.findLast((message) => message.id === id);
    if (found?.role === 'assistant') return found;
    const message: AguiMessage = { id, role: 'assistant' };
    this.#messages.push(message);
    return message;
  }

  #reasoning(id: string): MessageOf<'reasoning'> {
    const found = this.#messages.findLast((message) => message.id === id);
    if (found?.role === 'reasoning') return found;
    const message = { id, role: 'reasoning' as const, content: '' };
    this.#messages.push(message);
    return message;
  }

  protected call({ key, name, input }: PageCall): void {
    const call = toolCallOf(key, name, input);
    const answer = this.#answer();
    answer.toolCalls = [...(answer.toolCalls ?? []), call];
    this.emit({ type: 'TOOL_CALL_START', toolCallId: key, toolCallName: name, parentMessageId: answer.id });
    this.emit({ type: 'TOOL_CALL_ARGS', toolCallId: key, delta: call.function.arguments });
    this.emit({ type: 'TOOL_CALL_END', toolCallId: key });
  }

  protected progress(content: object & { toolCallId: string }): void {
    const id = `progress-${content.toolCallId}`;
    this.#activity({ id, role: 'activity', activityType: 'TOOL_PROGRESS', content });
  }

  protected result(toolCallId: string, { isError, toolName, toolResultContent }: DataOf<'tool_result'>): void {
    const result = {
      toolCallId,
      role: 'tool' as const,
      content: this.showsDetails(toolName) ? resultContent(toolResultContent) : hiddenResult(isError),
      ...(isError ? { metadata: { isError: true as const } } : {}),
    };
    this.#addResult({ id: resultId(toolCallId), ...result });
    this.emit({ type: 'TOOL_CALL_RESULT', messageId: resultId(toolCallId), ...result });
  }

  /** Inserts the result after the message with the call and the results of its other calls, as clients do. */
  #addResult(result: MessageOf<'tool'>): void {
    const messages = this.#messages;
    const hasCall = (message: AguiMessage) =>
      message.role === 'assistant' && message.toolCalls?.some(({ id }) => id === result.toolCallId);
    let index = messages.findLastIndex(hasCall) + 1;
    while (messages[index]?.role === 'tool') index++;
    messages.splice(index, 0, result);
  }

  protected source(source: DataOf<'source'>): void {
    this.#activity({ id: this.#nextId(), role: 'activity', activityType: 'SOURCE', content: sourceChunk(source) });
  }

  protected file(file: { mediaType: string; url: string }): void {
    this.#activity(fileActivity(this.#nextId(), file));
  }

  #activity(message: MessageOf<'activity'>): void {
    const { id, activityType, content } = message;
    const index = this.#messages.findIndex((each) => each.id === id);
    if (index < 0) this.#messages.push(message);
    else this.#messages[index] = message;
    this.emit({ type: 'ACTIVITY_SNAPSHOT', messageId: id, activityType, content });
  }

  protected output(value: unknown): void {
    this.#output = value;
    this.emit(outputDelta(value));
  }

  protected finished({ answer, totals }: DataOf<'run_finished'>): void {
    const { inputTokens, outputTokens, reasoningTokens, cachedInputTokens } = totals.usage;
    const usage = {
      inputTokens,
      outputTokens,
      totalTokens: inputTokens + outputTokens,
      reasoningTokens,
      cachedInputTokens,
    };
    this.#lastEvent = { type: 'RUN_FINISHED', result: answer, outcome: { type: 'success' }, usage: [usage] };
  }
}

/** The response for a thread without a run in progress. */
export function savedThread(run: AguiRun, messages: AguiMessage[]): ReadableStream {
  const finished = { type: 'RUN_FINISHED', ...run, outcome: { type: 'success' } };
  const sent = [runStarted(run), messagesSnapshot(messages), finished];
  return new Blob(sent.map((event) => `data: ${JSON.stringify(event)}\n\n`)).stream();
}

export function messagesSnapshot(messages: AguiMessage[]): object {
  return { type: 'MESSAGES_SNAPSHOT', messages };
}

function runStarted(run: AguiRun): object {
  return { type: 'RUN_STARTED', protocolVersion: '1.0', ...run };
}

function outputDelta(value: unknown): object {
  return { type: 'STATE_DELTA', delta: [{ op: 'add', path: '/output', value }] };
}

function blockStart({ kind, id }: Block): object[] {
  if (kind === 'text') return [{ type: 'TEXT_MESSAGE_START', messageId: id, role: 'assistant' }];
  return [
    { type: 'REASONING_START', messageId: id },
    { type: 'REASONING_MESSAGE_START', messageId: id, role: 'reasoning' },
  ];
}

function formInterrupt({ id, server, request, key }: FormQuestion): object {
  return {
    id,
    reason: 'input_required',
    message: request.message,
    ...(key === undefined ? {} : { toolCallId: key }),
    ...('requestedSchema' in request ? { responseSchema: request.requestedSchema } : {}),
    metadata: { server, ...('url' in request ? { url: request.url } : {}) },
  };
}
