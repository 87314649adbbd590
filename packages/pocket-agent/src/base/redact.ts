// Redacts secrets in audit records and in spans.

const MAX_DEPTH = 20;
export const REDACTED = '[redacted]';
const secretKeys =
  /pass$|password|passphrase|passwd|pwd|secret|bearer|access[-_]?key|token|authorization|api[-_]?key|credential|cookie|private[-_]?key/i;

/** A copy without secrets: values of keys named like one, and text that matches a pattern. */
export function redact(value: unknown, patterns: readonly RegExp[], depth = 0): unknown {
  if (depth > MAX_DEPTH) return '[too deep]';
  if (typeof value === 'string') return redactText(value, patterns);
  if (Array.isArray(value)) return value.map((item) => redact(item, patterns, depth + 1));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      redactText(key, patterns, isSpelledOut),
      secretKeys.test(key) || redactText(key, patterns) !== key ? REDACTED : redact(item, patterns, depth + 1),
    ]),
  );
}

type Keeps = (found: string, pattern: RegExp) => boolean;

/** A key is kept if the pattern contains it literally; otherwise the key itself may be a secret. */
const isSpelledOut: Keeps = (found, { source }) => source.toLowerCase().includes(found.toLowerCase());

export function redactText(text: string, patterns: readonly RegExp[], keeps: Keeps = () => false): string {
  const global = ({ flags }: RegExp) => `${flags.replace(/[gy]/g, '')}g`;
  return patterns.reduce(
    (left, pattern) =>
      left.replace(new RegExp(pattern, global(pattern)), (found) => (keeps(found, pattern) ? found : REDACTED)),
    text,
  );
}
