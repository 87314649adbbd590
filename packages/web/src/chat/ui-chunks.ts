// Converts the events of a run to chunks of the AI SDK's UI message stream, which `useChat` reads.
import { publicErrorText } from '@pocket-agent/kit';
import type { ToolResult } from 'pocket-agent';
import type { ApprovalQuestion, FormQuestion, FormResult, Frame, PageAnswer } from '../live/live-run.ts';
import {
  type Block,
  type DataOf,
  type EncoderOptions,
  HIDDEN_ERROR,
  type PageCall,
  RunEncoder,
} from '../live/run-encoder.ts';
import { outputOf, sourceChunk } from './ui-parts.ts';

const PAUSE = JSON.stringify({ type: 'finish', finishReason: 'tool-calls' });
const DONE = '[DONE]';

export const uiFrame: Frame = { end: (isOver) => (isOver ? [DONE] : [PAUSE, DONE]) };

export class UiChunks extends RunEncoder {
  /** Calls whose part on the page has an approval. */
  readonly #withApproval = new Set<string>();
  readonly #denied = new Set<string>();
  #blocks = 0;

  constructor({ messageId, ...options }: EncoderOptions & { messageId: string }) {
    super(options);
    this.emit({ type: 'start', messageId });
  }

  override approvalAsked(question: ApprovalQuestion): void {
    this.endBlock();
    this.autoApprove(question.enclosing);
    super.approvalAsked(question);
    const { id: approvalId, key: toolCallId } = question;
    this.#withApproval.add(toolCallId);
    this.emit({ type: 'tool-approval-request', approvalId, toolCallId });
  }

  approvalAnswered({ id, key, approved, reason }: PageAnswer & { key: string }): void {
    if (!approved) this.#denied.add(key);
    this.emit({ type: 'tool-approval-response', approvalId: id, approved, ...(reason ? { reason } : {}) });
  }

  formAsked(form: FormQuestion): void {
    this.endBlock();
    this.#form(form, 'open');
  }

  formClosed(form: FormQuestion, action: FormResult['action']): void {
    this.#form(form, { accept: 'answered', decline: 'declined', cancel: 'cancelled' }[action]);
  }

  #form({ id, server, request, key }: FormQuestion, state: string): void {
    const { message } = request;
    const schema = 'requestedSchema' in request ? request.requestedSchema : undefined;
    const url = 'url' in request ? request.url : undefined;
    this.emit({ type: 'data-form', id, data: { id, state, server, message, schema, url, toolCallId: key } });
  }

  /** Marks calls as approved: `useChat` sends an answer only when every call of the step has a result or an approval. */
  autoApprove(keys: Iterable<string>): void {
    for (const key of keys) {
      if (!this.isShown(key) || this.#withApproval.has(key)) continue;
      this.#withApproval.add(key);
      const approvalId = `allowed-${key}`;
      this.emit({ type: 'tool-approval-request', approvalId, toolCallId: key, isAutomatic: true });
      this.emit({ type: 'tool-approval-response', approvalId, approved: true });
    }
  }

  failed(error: unknown): void {
    this.endBlock();
    this.emit({ type: 'error', errorText: publicErrorText(error) });
  }

  override aborted(): void {
    super.aborted();
    this.emit({ type: 'abort' });
  }

  protected stepStarted(): void {
    this.emit({ type: 'start-step' });
  }

  protected stepFinished(): void {
    this.emit({ type: 'finish-step' });
  }

  protected newBlockId(kind: Block['kind']): string {
    return `${kind}-${++this.#blocks}`;
  }

  protected blockStarted({ kind, id }: Block): void {
    this.emit({ type: `${kind}-start`, id });
  }

  protected blockDelta({ kind, id }: Block, delta: string): void {
    this.emit({ type: `${kind}-delta`, id, delta });
  }

  protected blockEnded({ kind, id }: Block): void {
    this.emit({ type: `${kind}-end`, id });
  }

  protected call({ key, name, input, providerExecuted }: PageCall): void {
    this.emit({
      type: 'tool-input-available',
      toolCallId: key,
      toolName: name,
      input,
      dynamic: true,
      ...(providerExecuted ? { providerExecuted } : {}),
    });
  }

  protected progress(data: object & { toolCallId: string }): void {
    this.emit({ type: 'data-progress', id: data.toolCallId, data });
  }

  protected result(toolCallId: string, data: DataOf<'tool_result'>): void {
    const provider = 'providerExecuted' in data ? { providerExecuted: true } : {};
    const isShown = this.showsDetails(data.toolName);
    if (this.#denied.has(toolCallId)) this.emit({ type: 'tool-output-denied', toolCallId });
    else if (data.isError)
      this.emit({
        type: 'tool-output-error',
        toolCallId,
        errorText: isShown ? textOf(data) : HIDDEN_ERROR,
        ...provider,
      });
    else this.emit({ type: 'tool-output-available', toolCallId, output: isShown ? outputOf(data) : null, ...provider });
  }

  protected output(data: unknown): void {
    this.emit({ type: 'data-output', id: 'output', data });
  }

  protected source(source: DataOf<'source'>): void {
    this.emit(sourceChunk(source));
  }

  protected file(file: { mediaType: string; url: string }): void {
    this.emit({ type: 'file', ...file });
  }

  protected finished({ totals }: DataOf<'run_finished'>): void {
    this.emit({ type: 'finish', finishReason: 'stop', messageMetadata: { usage: totals.usage } });
  }
}

function textOf(result: ToolResult): string {
  return result.toolResultContent.map((part) => (part.type === 'text' ? part.text : `[${part.mediaType}]`)).join('\n');
}
