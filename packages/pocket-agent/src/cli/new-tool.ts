// The command `pocket-agent new-tool`: a tool folder that works, to start from.
import { PocketError } from '../errors.ts';
import { readArguments } from './arguments.ts';

const DEFAULT_DIRECTORY = 'tools';

export async function command(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, { dir: { type: 'string' } });
  const [name, ...more] = positionals;
  if (name === undefined || more.length > 0) {
    throw new PocketError('CONFIG_INVALID', 'Which name? pocket-agent new-tool NAME takes one.');
  }
  const { writeNewTool } = await import('../tool-folder/index.ts');
  const directory = values.dir ?? DEFAULT_DIRECTORY;
  const { path } = await writeNewTool(directory, name);
  process.stdout.write(`${path}\n`);
  process.stderr.write(`Try it: pocket-agent tools --tools ${directory}\n`);
  return 0;
}
