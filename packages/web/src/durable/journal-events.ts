// The journal of a run as the events that a run in this process would have. If this process advances the run, live events
// come between two steps: text as it is written, progress, sources.
import { isRecord, PocketError, type PocketErrorCode } from '@pocket-agent/kit';
import type { AgentEvent, Message, ToolContentPart, ToolMessage } from 'pocket-agent';
import { savedRequest } from 'pocket-agent/internal';
import type { AskedForm, AskedQuestion, Encoder } from '../live/live-run.ts';
import { callKey } from '../live/open-calls.ts';
import { isFailure } from '../live/run-encoder.ts';
import type { WebRun, WebRunEvent, WebRunQuestion } from './durable-options.ts';

export interface DurableEncoder extends Encoder {
  /** Calls that wait for answers to questions of calls inside them. */
  allowed?(keys: Iterable<string>): void;
}

interface Parts {
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
  readonly #parts: Parts;
  /** Calls of the agent without a result. */
  readonly #open = new Set<string>();
  readonly #questions = new Map<string, AskedQuestion>();
  readonly #forms = new Map<string, AskedForm>();
  /** Answers of the model that were read. */
  #answers = 0;
  #isInStep = false;
  /** Live events that wait until the journal was read up to their step. */
  #live: { step: number; event: AgentEvent }[] = [];
  #liveStep = 0;
  /** Text of the step in progress that was sent already. */
  #sent: Block[] = [];
  isOver = false;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  get questions(): AskedQuestion[] {
    return [...this.#questions.values()];
  }

  get forms(): AskedForm[] {
    return [...this.#forms.values()];
  }

  /** Whether nothing happens before a question is answered: all calls in progress wait, or contain calls that wait. */
  get isAtRest(): boolean {
    const asked = this.questions.map(({ key }) => key);
    const others = [...this.#open].filter((key) => !asked.includes(key));
    const inside = asked.filter((key) => !this.#open.has(key)).length + this.#forms.size;
    return asked.length + this.#forms.size > 0 && others.length <= inside;
  }

  /** Before the page answers: it does so only if no other call of the step is in progress. */
  rest(): void {
    if (this.#questions.size === 0) return;
    const asked = new Set(this.questions.map(({ key }) => key));
    this.#parts.encoder.allowed?.([...this.#open].filter((key) => !asked.has(key)));
  }

  async read({ type, data, subAgent }: WebRunEvent): Promise<void> {
    const path = subAgent === undefined ? [] : subAgent.split('/').map((name) => name.replaceAll('%2F', '/'));
    // what the journal of a run contains
    if (type === 'message') this.#message(data as Message, path);
    else if (type === 'result') this.#results(data as ToolMessage, path);
    else if (type === 'question') this.#ask(data as WebRunQuestion);
    else if (type === 'answer') this.#answer(data as { question: string; answer: unknown });
    else if (type === 'finished') await this.#finish((data as { answer: unknown }).answer);
    else if (type === 'failed') this.#fail(data as { code: PocketErrorCode; message: string });
    else if (type === 'cancelled') this.#end(() => this.#parts.encoder.aborted());
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
      const isPast = event.type === 'tool_progress' ? step < this.#answers : step <= this.#answers;
      const isNow = event.type === 'tool_progress' ? step === this.#answers : step === this.#answers + 1;
      if (!isPast && (!isNow || (event.type !== 'tool_progress' && this.#open.size > 0))) return;
      this.#live.shift();
      if (isPast) continue;
      if (event.type !== 'tool_progress') this.#beginStep();
      if (event.type === 'text_delta' || event.type === 'reasoning_delta') this.#note(event);
      this.#parts.encoder.event(event);
    }
  }

  #note({ type, data: { delta } }: Extract<AgentEvent, { type: 'text_delta' | 'reasoning_delta' }>): void {
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
    this.#answers++;
    for (const part of message.content) {
      if (part.type === 'text' || part.type === 'reasoning') this.#text({ kind: part.type, text: part.text }, sent);
      if (part.type === 'tool-result') this.#result(part, [], true);
      if (part.type !== 'tool-call') continue;
      const { toolCallId, toolName, input, providerExecuted } = part;
      const args = isRecord(input) ? input : {};
      const ran = providerExecuted ? { providerExecuted: true as const } : {};
      if (!providerExecuted) this.#open.add(toolCallId);
      const data = { id: toolCallId, name: toolName, toolCallId, toolName, arguments: args, ...ran };
      this.#emit({ type: 'tool_call', data });
    }
    this.#emit({ type: 'new_message', data: message });
  }

  /** Without what was sent while the model wrote it. */
  #text({ kind, text }: Block, sent: Block[]): void {
    const known = sent[0]?.kind === kind && text.startsWith(sent[0].text) ? (sent.shift()?.text ?? '') : '';
    const delta = text.slice(known.length);
    if (delta) this.#emit({ type: `${kind}_delta`, data: { delta } });
  }

  #results({ content }: ToolMessage, path: readonly string[]): void {
    for (const part of content) {
      if (part.type !== 'tool-result') continue;
      const isOwn = path.length === 0;
      if (isOwn && !this.#open.delete(part.toolCallId)) continue;
      const key = callKey([this.#parts.name, ...path], part.toolCallId);
      for (const [id, question] of this.#questions) if (question.key === key) this.#questions.delete(id);
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

  #ask({ id, hash, call, request: form, server = '' }: WebRunQuestion): void {
    if (!this.#parts.asksPage) return;
    if (form) {
      const asked = { id, server, request: form, key: undefined };
      this.#forms.set(id, asked);
      this.#parts.encoder.formAsked(asked);
    }
    if (!call) return;
    const key = callKey(call.path, call.toolCallId);
    const request = savedRequest({ hash, call });
    for (const [other, question] of this.#questions) if (question.key === key) this.#questions.delete(other);
    const asked = { id, key, request, around: [] };
    this.#questions.set(id, asked);
    this.#parts.encoder.asked(asked);
  }

  #answer({ question: id, answer }: { question: string; answer: unknown }): void {
    const form = this.#forms.get(id);
    if (form) {
      this.#forms.delete(id);
      const action = isRecord(answer) && (answer.action === 'accept' || answer.action === 'decline') && answer.action;
      this.#parts.encoder.formClosed(form, action || 'cancel');
    }
    const asked = this.#questions.get(id);
    if (!asked) return;
    this.#questions.delete(id);
    const reason = isRecord(answer) && typeof answer.deny === 'string' ? answer.deny : undefined;
    const approved = answer === 'allow' || (isRecord(answer) && 'allow' in answer);
    this.#parts.encoder.answered?.({ id, key: asked.key, approved, reason });
  }

  #beginStep(): void {
    if (this.#isInStep) return;
    this.#isInStep = true;
    this.#emit({ type: 'step_started', data: { step: this.#answers + 1 } });
  }

  #endStep(): void {
    if (!this.#isInStep) return;
    this.#isInStep = false;
    const data = { step: this.#answers, finishReason: 'stop' as const, usage: noUsage };
    this.#emit({ type: 'step_finished', data });
  }

  async #finish(answer: unknown): Promise<void> {
    const totals = (await this.#parts.totals()) ?? { usage: noUsage, byAgent: {}, byTool: {} };
    this.#end(() => this.#emit({ type: 'run_finished', data: { answer, totals } }));
  }

  #fail({ code, message }: { code: PocketErrorCode; message: string }): void {
    this.#end(() => this.#parts.encoder.failed(new PocketError(code, message)));
  }

  #end(last: () => void): void {
    this.isOver = true;
    this.#questions.clear();
    this.#forms.clear();
    this.#open.clear();
    this.#live = [];
    last();
  }

  #emit(event: NewEvent, path: readonly string[] = []): void {
    const { name, encoder } = this.#parts;
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
