import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CommandFolder } from '../fixtures/command.ts';

const folder = new CommandFolder();

describe('pocket-agent dump', () => {
  test('contains documentation and source with working links', async () => {
    const { code, stdout, stderr } = await folder.command(['dump']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(
      /^# Pocket Agent \d+\.\d+\.\d+\n\n\d+ pages of documentation and \d+ source files, [\d,]+ lines\.\n/,
    );
    const links = [...stdout.slice(0, stdout.indexOf('\n# Documentation')).matchAll(/\]\(#([^)]+)\)/g)].map(
      ([, id]) => id,
    );
    expect(links).toContain('docs-agents-md');
    for (const id of links) expect(stdout).toContain(`<a id="${id}"></a>`);
    expect(stdout).toContain('## src/agent/agent.ts\n\n```ts\n// PocketAgent:');
    expect(stdout).toContain('## README.md');
  });

  test('writes FILE and nothing to stdout', async () => {
    const { code, stdout, stderr } = await folder.command(['dump', '--docs-only', 'out.md']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    expect(stderr).toMatch(/^out\.md: [\d,]+ bytes\n$/);
    expect(await readFile(join(folder.path, 'out.md'), 'utf8')).toContain('\n# Documentation\n');
    const failed = await folder.command(['dump', 'no/such/folder.md']);
    expect(failed).toMatchObject({ code: 2, stdout: '' });
    expect(failed.stderr).toContain('no/such/folder.md cannot be written: ');
    expect((await folder.command(['dump', 'a.md', 'b.md'])).stderr).toContain('Give one file');
  });

  test('--docs-only and --source-only leave out the other part', async () => {
    const [docs, source] = await Promise.all([
      folder.command(['dump', '--docs-only']),
      folder.command(['dump', '--source-only']),
    ]);
    expect(docs.stdout).toContain('\n# Documentation\n');
    expect(docs.stdout).not.toContain('## src/');
    expect(source.stdout).toContain('\n# Source\n');
    expect(source.stdout).not.toContain('## docs/');
  });
});
