// The visible progress of a run: the text so far and the running tools.
import { type AgentEvent, isPocketError, type PocketErrorCode, type ToolResult, textOf } from 'pocket-agent';

/** Error codes of calls that were never made. */
const NOT_CALLED: readonly PocketErrorCode[] = [
  'ACCESS_DENIED',
  'TOOL_DENIED',
  'TOOL_UNKNOWN',
  'TOOL_ARGUMENTS_INVALID',
];

export class Progress {
  readonly #texts: string[] = [];
  readonly #running = new Map<string, string>();
  readonly #used = new Set<string>();
  #current = '';

  /** Returns whether the display changes. */
  update(event: AgentEvent): boolean {
    if (event.meta.isSubAgent) return false;
    switch (event.type) {
      case 'text_delta':
        this.#current += event.data.delta;
        return true;
      case 'model_retry':
        this.#current = '';
        return true;
      case 'new_message':
        if (event.data.role !== 'assistant') return false;
        this.#current = '';
        if (textOf(event.data).trim() !== '') this.#texts.push(textOf(event.data));
        return true;
      case 'tool_call':
        this.#running.set(event.data.toolCallId, event.data.toolName);
        return true;
      case 'tool_progress':
        if (event.data.message === undefined) return false;
        this.#running.set(event.data.toolCallId, `${event.data.toolName} (${event.data.message.slice(0, 80)})`);
        return true;
      case 'tool_result':
        if (wasCalled(event.data)) this.#used.add(event.data.toolName);
        return this.#running.delete(event.data.toolCallId);
      default:
        return false;
    }
  }

  get text(): string {
    return [...this.#texts, this.#current].filter((text) => text.trim() !== '').join('\n\n');
  }

  get status(): string {
    return this.#running.size > 0 ? `-# Using ${nameList(this.#running.values())} …` : '-# …';
  }

  get note(): string {
    return this.#used.size > 0 ? `-# Used ${nameList(this.#used)}` : '';
  }
}

function wasCalled({ extra: { error } }: ToolResult): boolean {
  return !isPocketError(error) || !NOT_CALLED.includes(error.code);
}

function nameList(names: Iterable<string>): string {
  return [...names].map((name) => `\`${name.replaceAll(/[`\n]/g, ' ')}\``).join(', ');
}
