// Translates the options of `npm test` to those of Vitest.

/** Tests of the agent itself: run, step, hooks, tools, access. They take a few seconds. */
export const quickTests = ['agent/', 'tools/tool-results', 'access/access.test'].map(
  (name) => `packages/pocket-agent/test/${name}`,
);

export function vitestArguments(args: readonly string[]): string[] {
  return args.flatMap((arg) => {
    if (arg === '--quick') return quickTests;
    if (arg === '-u') return '--update=all'; // Vitest would read the next name as a value of -u
    return arg === '--verbose' ? ['--reporter=verbose'] : [arg];
  });
}
