// Tool folders on disk, for tests that write their own.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Logger } from 'pocket-agent';
import { onTestFinished } from 'vitest';
import { quickStart } from '../../pocket-agent/test/fixtures/programs/quick-start.ts';

export const fixtures = fileURLToPath(new URL('fixtures/tool-folders', import.meta.url));

/** Writes files to a new directory, which is removed after the test. */
export function writeFiles(files: Record<string, string>): string {
  const root = mkdtempSync(join(tmpdir(), 'tool-folders-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) writeInto(root, name, text);
  return root;
}

export function writeInto(root: string, name: string, text: string): void {
  mkdirSync(dirname(join(root, name)), { recursive: true });
  writeFileSync(join(root, name), text);
}

/** A manifest of tools without parameters. */
export function manifestOf(...names: string[]): string {
  const entries = names.map((name) => `  - name: ${name}\n    description: Does ${name}\n`);
  return `tool_human_name: Some tools\ntool_list:\n${entries.join('')}`;
}

/** A logger that records its lines. `undeclared` has the warnings about missing capabilities, which most test manifests cause. */
export function recordLog(): { logger: Logger; lines: string[]; undeclared: string[] } {
  const lines: string[] = [];
  const undeclared: string[] = [];
  const keep = (level: string) => (message: string) =>
    void (message.includes(': no capability for') ? undeclared : lines).push(`${level}: ${message}`);
  return {
    lines,
    undeclared,
    logger: { debug: keep('debug'), info: keep('info'), warn: keep('warn'), error: keep('error') },
  };
}

/** The command that serves the tool folders of a directory on stdio, in a plain Node process. */
export function servedOnStdio(path: string, ...more: string[]) {
  const program = fileURLToPath(new URL('fixtures/served-tool-folders.ts', import.meta.url));
  return {
    command: process.execPath,
    args: ['-C', 'pocket-agent/source', program, path, ...more],
    env: quickStart,
    waitMs: 60_000,
  };
}
