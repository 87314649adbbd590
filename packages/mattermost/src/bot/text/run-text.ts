// The text of an answer and the tools that are running, collected from the events of a run.
import type { AgentEvent, AssistantMessage, Message } from 'pocket-agent';

/** An event of the journal of a run. */
interface JournaledEvent {
  type: string;
  data: unknown;
  time: string;
  subAgent?: string;
}

/** A question of a run; `call` is what needs an approval. */
interface AskedCall {
  id: string;
  call?: { tool: string };
}

interface GeneratedFile {
  mediaType: string;
  content: Buffer;
}

export class RunText {
  /** Texts of finished steps. */
  readonly #steps: string[] = [];
  /** Text of the current step. */
  #current = '';
  /** Names of running tools by call id. */
  readonly #tools = new Map<string, string>();
  /** Names of tools whose calls wait for an approval, by the id of the question. */
  readonly #waiting = new Map<string, string>();
  #resetAt: string | undefined;
  /** Files that the model generated. */
  readonly files: GeneratedFile[] = [];

  /** Returns true if the text or the list of tools changed. */
  handle({ type, data, meta }: AgentEvent): boolean {
    if (type === 'tool_call') this.#tools.set(data.toolCallId, data.toolName);
    else if (type === 'tool_result') this.#tools.delete(data.toolCallId);
    else if (meta.isSubAgent) return false;
    else if (type === 'text_delta') this.#current += data.delta;
    else if (type === 'model_retry') this.#current = '';
    else if (type === 'new_message' && data.role === 'assistant') {
      this.#addStep(data);
      this.#current = '';
    } else return false;
    return true;
  }

  /** Like `handle`, for an event from the journal of a run. */
  handleJournaled({ type, data, time, subAgent }: JournaledEvent): boolean {
    if (subAgent !== undefined) return false;
    if (isEnd(type))
      this.#current = ''; // every process shows the same text of a finished run
    else if (type === 'reset') this.#resetAt = time;
    else if (type === 'result') this.#endCalls(data as Message);
    else if (type === 'question') this.#wait(data as AskedCall);
    else if (type === 'answer') this.#waiting.delete((data as { question: string }).question);
    // a reset is written together with the messages that are kept, which were read before
    else if (type === 'message' && time !== this.#resetAt) this.#read(data as Message);
    else return false;
    return true;
  }

  /** For live text; the journal has the complete message later. */
  handleLive({ type, data, meta }: AgentEvent): boolean {
    if (meta.isSubAgent) return false;
    if (type === 'text_delta') this.#current += data.delta;
    else if (type === 'model_retry' || type === 'new_message') this.#current = '';
    return type === 'text_delta';
  }

  #read(message: Message): void {
    this.#endCalls(message);
    if (message.role !== 'assistant') return;
    for (const part of message.content) if (part.type === 'tool-call') this.#tools.set(part.toolCallId, part.toolName);
    this.#addStep(message);
  }

  #wait({ id, call }: AskedCall): void {
    if (call) this.#waiting.set(id, call.tool);
  }

  #endCalls({ role, content }: Message): void {
    if (role !== 'tool') return;
    for (const part of content) if (part.type === 'tool-result') this.#tools.delete(part.toolCallId);
  }

  #addStep({ content }: AssistantMessage): void {
    this.#steps.push(content.map((part) => (part.type === 'text' ? part.text : '')).join(''));
    for (const part of content) {
      if (part.type !== 'file' || part.data.type !== 'data') continue;
      const { data } = part.data;
      const bytes = typeof data === 'string' ? Buffer.from(data, 'base64') : Buffer.from(data);
      this.files.push({ mediaType: part.mediaType, content: bytes });
    }
  }

  get answer(): string {
    return [...this.#steps, this.#current]
      .map((step) => step.trim())
      .filter((step) => step !== '')
      .join('\n\n');
  }

  /** The answer so far, with the running tools. */
  get progress(): string {
    const waiting = [...this.#waiting.values()];
    const running = [...new Set(this.#tools.values())].filter((name) => !waiting.includes(name));
    const names = running.map((name) => `\`${name.replaceAll('`', '')}\``);
    return [this.answer, names.length > 0 ? `:hourglass_flowing_sand: ${names.join(', ')} …` : '']
      .filter((part) => part !== '')
      .join('\n\n');
  }
}

function isEnd(type: string): boolean {
  return type === 'finished' || type === 'failed' || type === 'cancelled';
}
