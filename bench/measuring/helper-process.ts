// Runs a program in a separate process, so that its work is not measured.
import { fork, type Serializable } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

interface Helper<Ready, Command> {
  /** The message that it sent when it was ready. */
  ready: Ready;
  /** Sends a command and waits for its result. Send one command at a time. */
  send(command: Command): Promise<unknown>;
}

/** `file` is in bench/servers. The helper ends with this process; if it fails, this process fails, too. */
export async function startHelper<Ready, Command extends Serializable = never>(
  file: string,
): Promise<Helper<Ready, Command>> {
  const program = fork(fileURLToPath(new URL(`../servers/${file}`, import.meta.url)), { execArgv: process.execArgv });
  program.once('exit', (code) => {
    throw new Error(`${file} ended with ${code}.`);
  });
  const nextMessage = async () => (await once(program, 'message'))[0];
  const send = (command: Command) => {
    program.send(command);
    return nextMessage();
  };
  return { ready: await nextMessage(), send };
}

/** For the helper itself: reports that it is ready, then executes commands. */
export function serveAsHelper<Command>(ready: object, execute?: (command: Command) => Promise<unknown>): void {
  process.once('disconnect', () => process.exit());
  process.on('message', async (command: Command) => process.send?.((await execute?.(command)) ?? 'done'));
  process.send?.(ready);
}
