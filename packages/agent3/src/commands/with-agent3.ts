// A command that asks Agent3 once and ends.
import { openBySettings } from '../open.ts';
import { readSettings } from '../options.ts';
import type { Agent3, Caller } from '../types.ts';

/** Whoever may start the command may do everything with its registry; a remote hub goes by the token. */
const LOCAL: Caller = { id: 'local', isAdmin: true, isAlone: true };

export async function withAgent3(work: (agent3: Agent3, caller: Caller) => Promise<number>): Promise<number> {
  const agent3 = await openBySettings(readSettings(process.env));
  try {
    return await work(agent3, LOCAL);
  } finally {
    await agent3.close();
  }
}
