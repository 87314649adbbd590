// The text of an answer and the tools that are running, collected from the events of a run.
import type { AgentEvent } from 'pocket-agent';

export class RunText {
  /** Texts of finished steps. */
  readonly #steps: string[] = [];
  /** Text of the current step. */
  #current = '';
  /** Names of running tools by call id. */
  readonly #tools = new Map<string, string>();

  /** Returns true if the text or the list of tools changed. */
  handle({ type, data, meta }: AgentEvent): boolean {
    if (type === 'tool_call') this.#tools.set(data.id, data.name);
    else if (type === 'tool_result') this.#tools.delete(data.toolCallId);
    else if (meta.isSubAgent) return false;
    else if (type === 'text_delta') this.#current += data.delta;
    else if (type === 'model_retry') this.#current = '';
    else if (type === 'new_message' && data.role === 'assistant') {
      this.#steps.push(data.content.map((part) => (part.type === 'text' ? part.text : '')).join(''));
      this.#current = '';
    } else return false;
    return true;
  }

  get answer(): string {
    return [...this.#steps, this.#current]
      .map((step) => step.trim())
      .filter((step) => step !== '')
      .join('\n\n');
  }

  /** The answer so far, with the running tools. */
  get progress(): string {
    const names = [...new Set(this.#tools.values())].map((name) => `\`${name.replaceAll('`', '')}\``);
    return [this.answer, names.length > 0 ? `:hourglass_flowing_sand: ${names.join(', ')} …` : '']
      .filter((part) => part !== '')
      .join('\n\n');
  }
}
