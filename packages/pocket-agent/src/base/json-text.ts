// Parses JSON that a model wrote, within limits.
import { textFault } from '@pocket-agent/http/json-weight';

/** A larger value takes minutes to check and copy. Deeper nesting is a mistake and may overflow the stack. */
const LIMITS = { maxValues: 50_000, maxDepth: 100 };

/** Throws an error whose message says what is wrong with the text. */
export function parseModelJson(text: string): unknown {
  // deep nesting needs long text
  const fault = text.length > LIMITS.maxDepth ? textFault(text, LIMITS) : undefined;
  if (fault !== undefined) throw new Error(`it is JSON ${fault}`);
  return JSON.parse(text);
}
