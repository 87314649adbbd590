// A program in a process beside the one that measures, so that what it does is not counted.
import { fork, type Serializable } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

interface Beside<Start, Order> {
  /** What it said when it was ready. */
  start: Start;
  /** One order at a time. */
  ask(order: Order): Promise<unknown>;
}

/** `file` is one of bench/servers. It ends with this process, and this process fails with it. */
export async function startBeside<Start, Order extends Serializable = never>(
  file: string,
): Promise<Beside<Start, Order>> {
  const program = fork(fileURLToPath(new URL(`servers/${file}`, import.meta.url)), { execArgv: process.execArgv });
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

/** In such a program: tells that it is ready, and then does as it is told. */
export function serveBeside<Order>(start: object, obey?: (order: Order) => Promise<unknown>): void {
  process.once('disconnect', () => process.exit());
  process.on('message', async (order: Order) => process.send?.((await obey?.(order)) ?? 'done'));
  process.send?.(start);
}
