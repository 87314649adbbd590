// A problem in a tool folder: its position, what was found and what is expected.

/** What is wrong in a manifest, and where. */
export interface ManifestProblem {
  file: string;
  /** Counted from 1. */
  line: number;
  column: number;
  found: string;
  expected: string;
}

/** One line: `tools/Web/manifest.yaml:4:11: found "red"; expected one of read, write, create, delete`. */
export function problemText({ file, line, column, found, expected }: ManifestProblem): string {
  return `${file}:${line}:${column}: found ${found}; expected ${expected}`;
}

interface Undeclared {
  humanName: string;
  undeclared: readonly string[];
}

/** The warning about tools that declare no capability; undefined if all do. `option` names the option that sets a default. */
export function undeclaredText({ humanName, undeclared }: Undeclared, option = 'defaultCapability') {
  if (undeclared.length === 0) return undefined;
  const names = undeclared.map((name) => `"${name}"`).join(', ');
  return `Tool folder "${humanName}": no capability for ${names}, treated like delete (only the profile admin may use it, and calls need approval). Add "capability: read" (or write, create, delete) to the manifest; for your own folders ${option} sets a default.`;
}

/** A short description of a value. */
export function describeValue(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (typeof value === 'object' && value !== null) return 'a mapping';
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}
