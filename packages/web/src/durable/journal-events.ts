// Converts the journal of a run to the events that a run in this process has. If this process executes the run, live events
// are added between journal entries: text deltas, progress, sources.
import { isRecord, PocketError, type PocketErrorCode } from '@pocket-agent/kit';
import type { AgentEvent, Message, ToolContentPart, ToolMessage } from 'pocket-agent';
import { savedRequest } from 'pocket-agent/internal';
import type { ApprovalQuestion, Encoder, FormQuestion } from '../live/live-run.ts';
import { callKey } from '../live/open-calls.ts';
import { isFailure } from '../live/run-encoder.ts';
import type { WebRun, WebRunEvent, WebRunQuestion } from './durable-options.ts';

export interface DurableEncoder extends Encoder {
  /** Marks calls as approved, because they only wait for calls inside them. */
  autoApprove?(keys: Iterable<string>): void;
}

interface JournalEventsOptions {
  encoder: DurableEncoder;
  /** The name of the agent. */
  name: string;
  asksPage: boolean;
  totals(): Promise<WebRun['totals']>;
}

type NewEvent = AgentEvent extends infer Event ? (Event extends AgentEvent ? Omit<Event, 'meta'> : never) : never;
type ResultPart = Extract<ToolMessage['content'][number], { type: 'tool-result' }>;
type Block = { kind: 'text' | 'reasoning'; text: string };

export class JournalEvents {
  readonly #options: JournalEventsOptions;
  /** Calls of the agent without a result. */
  readonly #open = new Set<string>();
  readonly #approvals = new Map<string, ApprovalQuestion>();
  readonly #forms = new Map<string, FormQuestion>();
  /** Assistant messages that were read. */
  #modelAnswers = 0;
  #isInStep = false;
  /** Live events whose step the journal has not reached. */
  #live: { step: number; event: AgentEvent }[] = [];
  #liveStep = 0;
  /** Text of the current step that live events have sent. */
  #sent: Block[] = [];
  isOver = false;

  constructor(options: JournalEventsOptions) {
    this.#options = options;
  }

  get approvals(): ApprovalQuestion[] {
    return [...this.#approvals.values()];
  }

  get forms(): FormQuestion[] {
    return [...this.#forms.values()];
  }

  /** Whether all calls in progress wait for the user, or contain a call that does. */
  get isIdle(): boolean {
    const asked = this.approvals.map(({ key }) => key);
    const others = [...this.#open].filter((key) => !asked.includes(key));
    const nested = asked.filter((key) => !this.#open.has(key)).length + this.#forms.size;
    return asked.length + this.#forms.size > 0 && others.length <= nested;
  }

  /** Marks the calls that only wait for calls inside them. */
  autoApprove(): void {
    if (this.#approvals.size === 0) return;
    const asked = new Set(this.approvals.map(({ key }) => key));
    this.#options.encoder.autoApprove?.([...this.#open].filter((key) => !asked.has(key)));
  }

  async read({ type, data, subAgent }: WebRunEvent): Promise<void> {
    const path = subAgent === undefined ? [] : subAgent.split('/').map((name) => name.replaceAll('%2F', '/'));
    // the types are those that `@pocket-agent/runs` writes
    if (type === 'message') this.#message(data as Message, path);
    else if (type === 'result') this.#results(data as ToolMessage, path);
    else if (type === 'question') this.#question(data as WebRunQuestion);
    else if (type === 'answer') this.#answer(data as { question: string; answer: unknown });
    else if (type === 'finished') await this.#finish((data as { answer: unknown }).answer);
    else if (type === 'failed') this.#fail(data as { code: PocketErrorCode; message: string });
    else if (type === 'cancelled') this.#end(() => this.#options.encoder.aborted());
    this.#flush();
  }

  readonly live = (event: AgentEvent): void => {
    if (event.meta.path.length > 1) return;
    if (event.type === 'step_started') this.#liveStep = event.data.step;
    else if (isLive(event)) this.#live.push({ step: this.#liveStep, event });
    this.#flush();
  };

  #flush(): void {
    for (let next = this.#live[0]; next; next = this.#live[0]) {
      const { step, event } = next;
      const isProgress = event.type === 'tool_progress';
      // progress comes after the model's answer of its step, everything else before it
      const currentStep = isProgress ? this.#modelAnswers : this.#modelAnswers + 1;
      if (step > currentStep) return;
      if (step === currentStep && !isProgress && this.#open.size > 0) return;
      this.#live.shift();
      if (step < currentStep) continue;
      if (!isProgress) this.#beginStep();
      if (event.type === 'text_delta' || event.type === 'reasoning_delta') this.#addSent(event);
      this.#options.encoder.event(event);
    }
  }

  #addSent({ type, data: { delta } }: Extract<AgentEvent, { type: 'text_delta' | 'reasoning_delta' }>): void {
    const kind = type === 'text_delta' ? 'text' : 'reasoning';
    const last = this.#sent.at(-1);
    if (last?.kind === kind) last.text += delta;
    else this.#sent.push({ kind, text: delta });
  }

  #message(message: Message, path: readonly string[]): void {
    if (message.role === 'tool') this.#results(message, path);
    if (path.length > 0 || message.role === 'user') return;
    if (message.role === 'assistant') this.#assistantMessage(message);
    if (this.#open.size === 0) this.#endStep();
  }

  #assistantMessage(message: Extract<Message, { role: 'assistant' }>): void {
    this.#beginStep();
    const sent = this.#sent;
    this.#sent = [];
    this.#modelAnswers++;
    for (const part of message.content) {
      if (part.type === 'text' || part.type === 'reasoning') this.#text({ kind: part.type, text: part.text }, sent);
      if (part.type === 'tool-result') this.#result(part, [], true);
      if (part.type !== 'tool-call') continue;
      const { toolCallId, toolName, input, providerExecuted } = part;
      const args = isRecord(input) ? input : {};
      const provider = providerExecuted ? { providerExecuted: true as const } : {};
      if (!providerExecuted) this.#open.add(toolCallId);
      const data = { id: toolCallId, name: toolName, toolCallId, toolName, arguments: args, ...provider };
      this.#emit({ type: 'tool_call', data });
    }
    this.#emit({ type: 'new_message', data: message });
  }

  /** Emits the part of a text that live events have not sent. */
  #text({ kind, text }: Block, sent: Block[]): void {
    const alreadySent = sent[0]?.kind === kind && text.startsWith(sent[0].text) ? (sent.shift()?.text ?? '') : '';
    const delta = text.slice(alreadySent.length);
    if (delta) this.#emit({ type: `${kind}_delta`, data: { delta } });
  }

  #results({ content }: ToolMessage, path: readonly string[]): void {
    for (const part of content) {
      if (part.type !== 'tool-result') continue;
      const isOwn = path.length === 0;
      if (isOwn && !this.#open.delete(part.toolCallId)) continue;
      const key = callKey([this.#options.name, ...path], part.toolCallId);
      this.#closeApproval(key);
      this.#result(part, path, false);
    }
  }

  #result({ toolCallId, toolName, output }: ResultPart, path: readonly string[], byProvider: boolean): void {
    const data = { toolCallId, toolName, toolCallName: toolName, toolResultContent: partsOf(output), extra: {} };
    const flags = {
      ...(isFailure(output) ? { isError: true } : {}),
      ...(byProvider ? { providerExecuted: true as const } : {}),
    };
    this.#emit({ type: 'tool_result', data: { ...data, ...flags } }, path);
  }

  #question({ id, hash, call, request: formRequest, server = '' }: WebRunQuestion): void {
    if (!this.#options.asksPage) return;
    if (formRequest) {
      const form = { id, server, request: formRequest, key: undefined };
      this.#forms.set(id, form);
      this.#options.encoder.formAsked(form);
    }
    if (!call) return;
    const key = callKey(call.path, call.toolCallId);
    const request = savedRequest({ hash, call });
    this.#closeApproval(key);
    const question = { id, key, request, enclosing: [] };
    this.#approvals.set(id, question);
    this.#options.encoder.approvalAsked(question);
  }

  #closeApproval(key: string): void {
    for (const [id, question] of this.#approvals) if (question.key === key) this.#approvals.delete(id);
  }

  #answer({ question: id, answer }: { question: string; answer: unknown }): void {
    const form = this.#forms.get(id);
    if (form) {
      this.#forms.delete(id);
      const action = isRecord(answer) && (answer.action === 'accept' || answer.action === 'decline') && answer.action;
      this.#options.encoder.formClosed(form, action || 'cancel');
    }
    const approval = this.#approvals.get(id);
    if (!approval) return;
    this.#approvals.delete(id);
    const reason = isRecord(answer) && typeof answer.deny === 'string' ? answer.deny : undefined;
    const approved = answer === 'allow' || (isRecord(answer) && 'allow' in answer);
    this.#options.encoder.approvalAnswered?.({ id, key: approval.key, approved, reason });
  }

  #beginStep(): void {
    if (this.#isInStep) return;
    this.#isInStep = true;
    this.#emit({ type: 'step_started', data: { step: this.#modelAnswers + 1 } });
  }

  #endStep(): void {
    if (!this.#isInStep) return;
    this.#isInStep = false;
    const data = { step: this.#modelAnswers, finishReason: 'stop' as const, usage: noUsage };
    this.#emit({ type: 'step_finished', data });
  }

  async #finish(answer: unknown): Promise<void> {
    const totals = (await this.#options.totals()) ?? { usage: noUsage, byAgent: {}, byTool: {} };
    this.#end(() => this.#emit({ type: 'run_finished', data: { answer, totals } }));
  }

  #fail({ code, message }: { code: PocketErrorCode; message: string }): void {
    this.#end(() => this.#options.encoder.failed(new PocketError(code, message)));
  }

  #end(emitLast: () => void): void {
    this.isOver = true;
    this.#approvals.clear();
    this.#forms.clear();
    this.#open.clear();
    this.#live = [];
    emitLast();
  }

  #emit(event: NewEvent, path: readonly string[] = []): void {
    const { name, encoder } = this.#options;
    const meta = {
      agentName: path.at(-1) ?? name,
      agentId: '',
      isSubAgent: path.length > 0,
      path: [name, ...path],
      time: Date.now(),
      runId: undefined,
    };
    encoder.event({ ...event, meta });
  }
}

const noUsage = {
  inputTokens: 0,
  cachedInputTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  costUsd: undefined,
  modelCalls: 0,
  toolCalls: 0,
};

function isLive({ type }: AgentEvent): boolean {
  return ['text_delta', 'reasoning_delta', 'output_delta', 'source', 'tool_progress'].includes(type);
}

function partsOf(output: ResultPart['output']): ToolContentPart[] {
  if (output.type !== 'content') {
    const value = 'value' in output ? output.value : (output.reason ?? '');
    return [{ type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) }];
  }
  return output.value.map((part): ToolContentPart => {
    if (part.type === 'text') return { type: 'text', text: part.text };
    if (part.type === 'file' && part.data.type === 'data' && typeof part.data.data === 'string')
      return { type: 'file', mediaType: part.mediaType, data: { type: 'data', data: part.data.data } };
    return { type: 'text', text: `[${part.type}]` };
  });
}
