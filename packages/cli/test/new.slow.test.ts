// The tests of projects that `pocket-agent new` has made.
import { spawnSync } from 'node:child_process';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CommandFolder } from './fixtures/command.ts';
import { newProject, root, templates } from './fixtures/projects.ts';

const folder = new CommandFolder();

test.each(templates)('pocket-agent new --template %s writes tests that pass', async (template) => {
  const project = await newProject(folder, template);
  await symlink(join(root, 'node_modules'), join(project, 'node_modules'));
  const sources = ['-C', 'pocket-agent/source'];
  const mcp = JSON.parse(await readFile(join(project, 'mcp.json'), 'utf8'));
  // the packages of this repository are not compiled for this test
  if (template === 'mcp-server') mcp.mcpServers['corner-shop'].args.unshift(...sources);
  await writeFile(join(project, 'mcp.json'), JSON.stringify(mcp));
  const { status, stdout } = spawnSync(process.execPath, [...sources, '--test'], {
    cwd: project,
    env: folder.env,
    encoding: 'utf8',
  });
  expect(stdout).toContain('pass 3');
  expect(status).toBe(0);
});
