// Opens Agent3 for one command and closes it.

import type { Agent3, Caller } from '../base/agent3.ts';
import { localOwner } from '../base/owner-tokens.ts';
import { openBySettings } from '../hub/open.ts';
import { readSettings } from '../hub/options.ts';

export async function withAgent3(work: (agent3: Agent3, caller: Caller) => Promise<number>): Promise<number> {
  const agent3 = await openBySettings(readSettings(process.env));
  try {
    // a remote hub ignores the caller and uses the token
    return await work(agent3, localOwner);
  } finally {
    await agent3.close();
  }
}
