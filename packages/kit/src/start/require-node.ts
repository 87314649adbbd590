// The oldest supported Node. This file imports nothing, so it also loads on a Node that is too old for the rest.

const MIN_MAJOR = 22;
const MIN_MINOR = 18;

/** The message for users of a Node that is too old; undefined if `version` is supported. */
export function nodeVersionProblem(program: string, version: string = process.versions.node): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > MIN_MAJOR || (major === MIN_MAJOR && minor >= MIN_MINOR)) return undefined;
  return `${program} needs Node ${MIN_MAJOR}.${MIN_MINOR} or newer; this is v${version}.`;
}

/** Ends the process with exit code 2 and a message on stderr if Node is too old. Call it before any other import. */
export function requireNode(program: string): void {
  const problem = nodeVersionProblem(program);
  if (problem === undefined) return;
  process.stderr.write(`${problem}\n`);
  process.exit(2);
}
