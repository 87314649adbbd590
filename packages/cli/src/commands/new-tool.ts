// The command `pocket-agent new-tool`: creates a working tool folder with a test.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { installCommand, PocketError } from '@pocket-agent/kit';
import { readArguments } from '../command-line/arguments.ts';
import { program } from '../command-line/help.ts';

const DEFAULT_DIRECTORY = 'tools';
const PACKAGE = '@pocket-agent/tool-folder';

export async function command(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, { dir: { type: 'string' } });
  const [name, ...more] = positionals;
  if (name === undefined || more.length > 0) {
    throw new PocketError('CONFIG_INVALID', 'Give one name: pocket-agent new-tool NAME');
  }
  const { testCommand, writeNewTool } = await import('@pocket-agent/tool-folder');
  const directory = values.dir ?? DEFAULT_DIRECTORY;
  const { path } = await writeNewTool(directory, name);
  process.stdout.write(`${path}\n`);
  const test = `${binFolder()}${testCommand} ${join(directory, name, 'tool.test.ts')}`;
  process.stderr.write(`Try it: ${program} tools --tools ${directory}\nTest it: ${test}\n`);
  if (!hasPackage(path)) {
    const needed = installCommand('pocket-agent', PACKAGE);
    process.stderr.write(`The test and the types need packages in that project: ${needed}.\n`);
  }
  return 0;
}

/** A checkout has a Node of its own, because an older one in the PATH would find no tests. */
function binFolder(): string {
  return existsSync('node_modules/.bin/node') ? 'node_modules/.bin/' : '';
}

function hasPackage(folder: string): boolean {
  const places = createRequire(join(folder, 'tool.ts')).resolve.paths(PACKAGE) ?? [];
  return places.some((place) => existsSync(join(place, PACKAGE)));
}
