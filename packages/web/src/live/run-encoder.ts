// Selects what a page sees of a run, for every format: text and reasoning in blocks, and the calls of the agent. Calls of
// sub-agents are shown only if they need an approval. A subclass writes its format.
import type { AgentEvent, Message } from 'pocket-agent';
import { urlOf } from './file-url.ts';
import type { ApprovalQuestion, Encoder, FormQuestion, FormResult } from './live-run.ts';
import { callKey } from './open-calls.ts';

export type DataOf<Type extends AgentEvent['type']> = Extract<AgentEvent, { type: Type }>['data'];

/** A piece of text or reasoning that is written delta by delta. */
export interface Block {
  kind: 'text' | 'reasoning';
  id: string;
}

/** A tool call as the page sees it. */
export interface PageCall {
  key: string;
  name: string;
  /** Empty if the page may not see the arguments. */
  input: unknown;
  providerExecuted?: true | undefined;
}

export interface EncoderOptions {
  emit(event: object): void;
  /** Whether the page sees the arguments and results of a tool. */
  showsDetails(name: string): boolean;
}

export const HIDDEN_ERROR = 'The tool failed.';

/** Whether a tool result in the history is an error or a denied call. */
export function isFailure({ type }: { type: string }): boolean {
  return type === 'error-text' || type === 'error-json' || type === 'execution-denied';
}

export abstract class RunEncoder implements Encoder {
  protected readonly emit: (event: object) => void;
  protected readonly showsDetails: (name: string) => boolean;
  readonly #shown = new Set<string>();
  #open: Block | undefined;

  constructor({ emit, showsDetails }: EncoderOptions) {
    this.emit = emit;
    this.showsDetails = showsDetails;
  }

  event(event: AgentEvent): void {
    const { type, data, meta } = event;
    const isOwn = meta.path.length === 1;
    if (type === 'tool_progress') {
      const key = callKey(meta.path, data.toolCallId);
      if (this.isShown(key)) this.progress(this.#shownProgress(key, data));
    } else if (type === 'tool_result') {
      const key = callKey(meta.path, data.toolCallId);
      if (this.isShown(key)) this.result(key, data);
    } else if (type === 'tool_call') {
      const { toolCallId, toolName: name, arguments: input, parentToolCallId, providerExecuted } = data;
      if (!isOwn || parentToolCallId !== undefined) return;
      this.#showCall({ key: callKey(meta.path, toolCallId), name, input, providerExecuted });
    } else if (isOwn) this.#ownEvent(event);
  }

  approvalAsked({ key, request }: ApprovalQuestion): void {
    this.endBlock();
    if (!this.isShown(key)) this.#showCall({ key, name: request.tool, input: request.arguments });
  }

  abstract formAsked(form: FormQuestion): void;
  abstract formClosed(form: FormQuestion, action: FormResult['action']): void;
  abstract failed(error: unknown): void;

  aborted(): void {
    this.endBlock();
  }

  protected abstract stepStarted(): void;
  protected abstract stepFinished(): void;
  protected abstract newBlockId(kind: Block['kind']): string;
  protected abstract blockStarted(block: Block): void;
  protected abstract blockDelta(block: Block, delta: string): void;
  protected abstract blockEnded(block: Block): void;
  protected abstract call(call: PageCall): void;
  protected abstract progress(progress: object & { toolCallId: string }): void;
  protected abstract result(key: string, result: DataOf<'tool_result'>): void;
  protected abstract output(value: unknown): void;
  protected abstract source(source: DataOf<'source'>): void;
  /** A file that the model generated. */
  protected abstract file(file: { mediaType: string; url: string }): void;
  protected abstract finished(run: DataOf<'run_finished'>): void;

  /** The block in progress, for a page that reconnects. */
  protected get openBlock(): Block | undefined {
    return this.#open;
  }

  protected isShown(key: string): boolean {
    return this.#shown.has(key);
  }

  protected endBlock(): void {
    if (this.#open) this.blockEnded(this.#open);
    this.#open = undefined;
  }

  #ownEvent({ type, data }: AgentEvent): void {
    switch (type) {
      case 'step_started':
        this.stepStarted();
        break;
      case 'text_delta':
        this.#delta('text', data.delta);
        break;
      case 'reasoning_delta':
        this.#delta('reasoning', data.delta);
        break;
      case 'output_delta':
        this.output(data.value);
        break;
      case 'source':
        this.source(data);
        break;
      case 'new_message':
        this.#files(data);
        break;
      case 'step_finished':
        this.endBlock();
        this.stepFinished();
        break;
      case 'run_finished':
        this.endBlock();
        if (typeof data.answer !== 'string') this.output(data.answer);
        this.finished(data);
        break;
    }
  }

  #delta(kind: Block['kind'], delta: string): void {
    if (this.#open?.kind !== kind) {
      this.endBlock();
      this.#open = { kind, id: this.newBlockId(kind) };
      this.blockStarted(this.#open);
    }
    this.blockDelta(this.#open, delta);
  }

  #showCall(call: PageCall): void {
    this.endBlock();
    this.#shown.add(call.key);
    this.call({ ...call, input: this.showsDetails(call.name) ? call.input : {} });
  }

  #shownProgress(key: string, { toolName, progress, total, message }: DataOf<'tool_progress'>) {
    return { toolCallId: key, toolName, progress, total, message: this.showsDetails(toolName) ? message : undefined };
  }

  #files(message: Message): void {
    if (message.role !== 'assistant') return;
    for (const part of message.content) {
      const url = part.type === 'file' ? urlOf(part) : undefined;
      if (part.type === 'file' && url) this.file({ mediaType: part.mediaType, url });
    }
  }
}
