// `agent3 claim ID`: proves that an agent is yours, or prints the file that would.
import { Agent3Error } from '../base/agent3-error.ts';
import { cleanText } from '../base/clean-text.ts';
import { readArguments } from './arguments.ts';
import { withAgent3 } from './with-agent3.ts';

export async function command(args: readonly string[]): Promise<number> {
  const { positionals } = readArguments({ args: [...args], allowPositionals: true, options: {} });
  const [agentId, ...more] = positionals;
  if (agentId === undefined || more.length > 0)
    throw new Agent3Error('INPUT_INVALID', 'Give one agent: agent3 claim ID');
  return withAgent3(async (agent3, caller) => {
    const { proved, file, message } = await agent3.claim(agentId, caller);
    if (!proved && file) process.stdout.write(`${file.content}\n`);
    process.stderr.write(cleanText(`${message}\n`));
    return proved ? 0 : 1;
  });
}
