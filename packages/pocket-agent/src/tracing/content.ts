// The text of conversations in spans: only for agents with the option `traceContent`, redacted like audit records, and cut.
import { redactData, truncate } from '@pocket-agent/kit';
import { redact } from '../base/redact.ts';

/** The longest text of one message or argument. */
const MAX_TEXT = 20_000;
/** The longest attribute. Of a longer conversation the newest messages are shown. */
const MAX_ATTRIBUTE = 200_000;

export class TracedContent {
  readonly #patterns: readonly RegExp[];

  constructor(patterns: readonly RegExp[]) {
    this.#patterns = patterns;
  }

  json(value: unknown): string {
    try {
      return truncate(JSON.stringify(redact(redactData(shortened(value)), this.#patterns)) ?? '', MAX_ATTRIBUTE);
    } catch {
      return '"[could not be redacted]"';
    }
  }

  /** The newest items of a list that fit into an attribute. */
  list(items: readonly unknown[]): string {
    const shown: string[] = [];
    let length = 0;
    for (const item of items.toReversed()) {
      const text = this.json(item);
      length += text.length;
      if (length > MAX_ATTRIBUTE && shown.length > 0) break;
      shown.unshift(text);
    }
    return `[${shown.join()}]`;
  }
}

function shortened(value: unknown): unknown {
  if (typeof value === 'string') return truncate(value, MAX_TEXT);
  if (Array.isArray(value)) return value.map(shortened);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, shortened(item)]));
}
