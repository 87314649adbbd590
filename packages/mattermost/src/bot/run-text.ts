// What a run has said so far and what it is doing, put together from its events.
import type { AgentEvent } from 'pocket-agent';

export class RunText {
  /** The text of each step that is over. */
  readonly #steps: string[] = [];
  /** The step that is being said. */
  #current = '';
  /** Tools at work, by call. */
  readonly #tools = new Map<string, string>();

  /** Whether there is something new to show. */
  take({ type, data, meta }: AgentEvent): boolean {
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

  get said(): string {
    return [...this.#steps, this.#current]
      .map((step) => step.trim())
      .filter((step) => step !== '')
      .join('\n\n');
  }

  /** With the tools that run at the moment. */
  get shown(): string {
    const names = [...new Set(this.#tools.values())].map((name) => `\`${name.replaceAll('`', '')}\``);
    return [this.said, names.length > 0 ? `:hourglass_flowing_sand: ${names.join(', ')} …` : '']
      .filter((part) => part !== '')
      .join('\n\n');
  }
}
