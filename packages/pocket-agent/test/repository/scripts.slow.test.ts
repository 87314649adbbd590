// Every program that package.json starts explains itself.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../../..', import.meta.url));
const { scripts }: { scripts: Record<string, string> } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const runFile = promisify(execFile);

/**
 * The arguments of Node, for the scripts whose last command is a program of ours. The example web-chat has no options, and
 * those of typecheck are the compiler's.
 */
const programs = Object.entries(scripts).flatMap(([name, script]): [string, string[]][] => {
  const [command, ...args] = script.split(' && ').at(-1)?.split(' ') ?? [];
  return command === 'node' && !['build', 'typecheck', 'web-chat'].includes(name) ? [[name, args]] : [];
});

test.each(programs)('npm run %s -- --help says how it is used, and does nothing else', async (_name, args) => {
  const { stdout, stderr } = await runFile(process.execPath, [...args, '--help'], { cwd: root });
  expect(stdout).toMatch(/usage|npm run|npm test|agent3 hub/i);
  expect(stderr).toBe('');
});
