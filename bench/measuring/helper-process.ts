// Starts a program in a separate process, so that its work is not measured.
import { fork, type Serializable } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

interface Beside<Start, Order> {
  /** The message it sent when it was ready. */
  start: Start;
  /** One command at a time. */
  ask(order: Order): Promise<unknown>;
}

/** `file` is one of bench/servers. It ends with this process; if it fails, this process fails as well. */
export async function startBeside<Start, Order extends Serializable = never>(
  file: string,
): Promise<Beside<Start, Order>> {
  const program = fork(fileURLToPath(new URL(`../servers/${file}`, import.meta.url)), { execArgv: process.execArgv });
  program.once('exit', (code) => {
    throw new Error(`${file} ended with ${code}.`);
  });
  const heard = async () => (await once(program, 'message'))[0];
  const ask = (order: Order) => {
    program.send(order);
    return heard();
  };
  return { start: await heard(), ask };
}

/** Used in such a program: reports that it is ready, then executes commands. */
export function serveBeside<Order>(start: object, obey?: (order: Order) => Promise<unknown>): void {
  process.once('disconnect', () => process.exit());
  process.on('message', async (order: Order) => process.send?.((await obey?.(order)) ?? 'done'));
  process.send?.(start);
}
