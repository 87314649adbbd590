// A command that asks Agent3 once and ends.
import { openBySettings } from '../open.ts';
import { readSettings } from '../options.ts';
import { localOwner } from '../owner-tokens.ts';
import type { Agent3, Caller } from '../types.ts';

export async function withAgent3(work: (agent3: Agent3, caller: Caller) => Promise<number>): Promise<number> {
  const agent3 = await openBySettings(readSettings(process.env));
  try {
    // a remote hub goes by the token
    return await work(agent3, localOwner);
  } finally {
    await agent3.close();
  }
}
