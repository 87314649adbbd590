import { spawnSync } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { CommandFolder } from '../fixtures/command.ts';

const folder = new CommandFolder();

describe('pocket-agent new-tool', () => {
  test('creates a folder whose tool can be called; an existing folder is refused', async () => {
    const made = await folder.command(['new-tool', 'MyTool', '--dir', 'mine']);
    expect(made).toMatchObject({ code: 0, stdout: `${join(folder.path, 'mine', 'MyTool')}\n` });
    expect(made.stderr).toMatch(
      /pocket-agent tools --tools mine\nTest it: .*node .*--test mine\/MyTool\/tool\.test\.ts\n.*: npm install CHECKOUT\/tarballs\/pocket-agent-\d\S+ CHECKOUT\/tarballs\/pocket-agent-tool-folder-\d\S+, /,
    );
    const { code, stdout } = await folder.command(['call', '--tools', 'mine', 'MyTool', 'my_tool', 'text=echo']);
    expect(code).toBe(0);
    expect(stdout).toContain('echo');
    expect((await folder.command(['new-tool', 'MyTool', '--dir', 'mine'])).code).toBe(2);
  });

  test('prints lines that work when they are typed in a checkout', async () => {
    const cwd = join(folder.path, 'project');
    await mkdir(cwd);
    await writeFile(join(cwd, 'package.json'), '{ "type": "commonjs" }'); // as npm init writes it
    await symlink(fileURLToPath(new URL('../../../../node_modules', import.meta.url)), join(cwd, 'node_modules'));
    const { stderr } = await folder.spawned(['new-tool', 'MyTool'], { cwd, env: { npm_lifecycle_event: 'start' } });
    const [tryIt, testIt, ...others] = stderr.split('\n');
    expect(tryIt).toBe('Try it: npm start --silent -- tools --tools tools');
    expect(others).toEqual(['']);
    const { status, stdout } = spawnSync(testIt?.replace('Test it: ', '') ?? '', {
      cwd,
      shell: true,
      encoding: 'utf8',
    });
    expect(stdout).toContain('pass 2');
    expect(status).toBe(0);
  });
});
