// The events of a run as chunks of the UI message stream of the AI SDK, which `useChat` reads.
import { publicErrorText } from '@pocket-agent/kit';
import type { AgentEvent, Message, ToolResult } from 'pocket-agent';
import type { Answer, AskedQuestion, Encoder, Frame } from '../live/live-run.ts';
import { callKey } from '../live/open-calls.ts';
import { outputOf, sourceChunk, urlOf } from './ui-parts.ts';

interface UiChunksOptions {
  emit(chunk: object): void;
  messageId: string;
  /** Whether the page sees arguments and results of a tool. */
  showsTool(name: string): boolean;
}

type Block = 'text' | 'reasoning';
type EventOf<Type extends AgentEvent['type']> = Extract<AgentEvent, { type: Type }>;

const PAUSE = JSON.stringify({ type: 'finish', finishReason: 'tool-calls' });
const DONE = '[DONE]';

export const uiFrame: Frame = { end: (isOver) => (isOver ? [DONE] : [PAUSE, DONE]) };

export class UiChunks implements Encoder {
  readonly #emit: (chunk: object) => void;
  readonly #showsTool: (name: string) => boolean;
  /** Calls that are parts of the message. */
  readonly #shown = new Set<string>();
  /** Calls with an approval part. */
  readonly #decided = new Set<string>();
  readonly #denied = new Set<string>();
  #open: { kind: Block; id: string } | undefined;
  #blocks = 0;

  constructor({ emit, messageId, showsTool }: UiChunksOptions) {
    this.#emit = emit;
    this.#showsTool = showsTool;
    emit({ type: 'start', messageId });
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
        if (isOwn && event.data.parentToolCallId === undefined) this.#call(event);
        break;
      default:
        if (isOwn) this.#ownEvent(event);
    }
  }

  asked({ id, key, request, around }: AskedQuestion): void {
    this.#endBlock();
    for (const outer of around) this.#allowed(outer);
    if (!this.#shown.has(key)) this.#input({ key, name: request.tool, input: request.arguments });
    this.#decided.add(key);
    this.#emit({ type: 'tool-approval-request', approvalId: id, toolCallId: key });
  }

  answered({ id, key, approved, reason }: Answer & { key: string }): void {
    if (!approved) this.#denied.add(key);
    this.#emit({ type: 'tool-approval-response', approvalId: id, approved, ...(reason ? { reason } : {}) });
  }

  failed(error: unknown): void {
    this.#endBlock();
    this.#emit({ type: 'error', errorText: publicErrorText(error) });
  }

  aborted(): void {
    this.#endBlock();
    this.#emit({ type: 'abort' });
  }

  /** A page answers only if no other call of the step is in progress. */
  #allowed(key: string): void {
    if (!this.#shown.has(key) || this.#decided.has(key)) return;
    this.#decided.add(key);
    const approvalId = `allowed-${key}`;
    this.#emit({ type: 'tool-approval-request', approvalId, toolCallId: key, isAutomatic: true });
    this.#emit({ type: 'tool-approval-response', approvalId, approved: true });
  }

  #ownEvent(event: AgentEvent): void {
    switch (event.type) {
      case 'step_started':
        this.#emit({ type: 'start-step' });
        break;
      case 'text_delta':
        this.#delta('text', event.data.delta);
        break;
      case 'reasoning_delta':
        this.#delta('reasoning', event.data.delta);
        break;
      case 'output_delta':
        this.#emit({ type: 'data-output', id: 'output', data: event.data.value });
        break;
      case 'source':
        this.#emit(sourceChunk(event.data));
        break;
      case 'new_message':
        this.#files(event.data);
        break;
      case 'step_finished':
        this.#endBlock();
        this.#emit({ type: 'finish-step' });
        break;
      case 'run_finished':
        this.#finish(event);
        break;
    }
  }

  #delta(kind: Block, delta: string): void {
    if (this.#open?.kind !== kind) {
      this.#endBlock();
      this.#open = { kind, id: `${kind}-${++this.#blocks}` };
      this.#emit({ type: `${kind}-start`, id: this.#open.id });
    }
    this.#emit({ type: `${kind}-delta`, id: this.#open.id, delta });
  }

  #endBlock(): void {
    if (this.#open) this.#emit({ type: `${this.#open.kind}-end`, id: this.#open.id });
    this.#open = undefined;
  }

  #call({ data, meta }: EventOf<'tool_call'>): void {
    this.#endBlock();
    const key = callKey(meta.path, data.toolCallId);
    this.#input({ key, name: data.toolName, input: data.arguments, providerExecuted: data.providerExecuted });
  }

  #input({
    key,
    name,
    input,
    providerExecuted,
  }: {
    key: string;
    name: string;
    input: unknown;
    providerExecuted?: true | undefined;
  }) {
    this.#shown.add(key);
    this.#emit({
      type: 'tool-input-available',
      toolCallId: key,
      toolName: name,
      input: this.#showsTool(name) ? input : {},
      dynamic: true,
      ...(providerExecuted ? { providerExecuted } : {}),
    });
  }

  #progress({ data, meta }: EventOf<'tool_progress'>): void {
    const { toolCallId, toolName, progress, total, message } = data;
    const key = callKey(meta.path, toolCallId);
    if (!this.#shown.has(key)) return;
    const shown = {
      toolCallId: key,
      toolName,
      progress,
      total,
      message: this.#showsTool(toolName) ? message : undefined,
    };
    this.#emit({ type: 'data-progress', id: key, data: shown });
  }

  #result({ data, meta }: EventOf<'tool_result'>): void {
    const toolCallId = callKey(meta.path, data.toolCallId);
    if (!this.#shown.has(toolCallId)) return;
    const ran = 'providerExecuted' in data ? { providerExecuted: true } : {};
    const isShown = this.#showsTool(data.toolName);
    if (this.#denied.has(toolCallId)) this.#emit({ type: 'tool-output-denied', toolCallId });
    else if (data.isError)
      this.#emit({
        type: 'tool-output-error',
        toolCallId,
        errorText: isShown ? textOf(data) : 'The tool failed.',
        ...ran,
      });
    else this.#emit({ type: 'tool-output-available', toolCallId, output: isShown ? outputOf(data) : null, ...ran });
  }

  /** Images and other files that the model made. */
  #files(message: Message): void {
    if (message.role !== 'assistant') return;
    for (const part of message.content) {
      const url = part.type === 'file' ? urlOf(part) : undefined;
      if (part.type === 'file' && url) this.#emit({ type: 'file', mediaType: part.mediaType, url });
    }
  }

  #finish({ data }: EventOf<'run_finished'>): void {
    this.#endBlock();
    const { answer, totals } = data;
    if (typeof answer !== 'string') this.#emit({ type: 'data-output', id: 'output', data: answer });
    this.#emit({ type: 'finish', finishReason: 'stop', messageMetadata: { usage: totals.usage } });
  }
}

function textOf(result: ToolResult): string {
  return result.toolResultContent.map((part) => (part.type === 'text' ? part.text : `[${part.mediaType}]`)).join('\n');
}
