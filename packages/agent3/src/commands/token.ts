// `agent3 token OWNER`: creates an owner token for the API of the hub.

import { Agent3Error } from '../base/agent3-error.ts';
import { ownerTokens } from '../hub/open.ts';
import { readSettings } from '../hub/options.ts';
import { readArguments } from './arguments.ts';

export async function command(args: readonly string[]): Promise<number> {
  const { positionals } = readArguments({ args: [...args], allowPositionals: true, options: {} });
  const [owner, ...more] = positionals;
  if (owner === undefined || more.length > 0)
    throw new Agent3Error('INPUT_INVALID', 'Give one owner: agent3 token OWNER');
  const tokens = await ownerTokens(readSettings(process.env));
  process.stdout.write(`${tokens.issue(owner)}\n`);
  return 0;
}
