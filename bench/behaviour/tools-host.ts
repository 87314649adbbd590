// An HTTP server with tools that return large results, fail, or succeed.
import { setTimeout as pause } from 'node:timers/promises';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { type Host, listen, startSessionHost } from '../../packages/pocket-agent/test/fixtures/servers/http-hosts.ts';
import { serverOf2025, serverOf2026, type Tools } from './tools-server.ts';

/** How long a call waits for parallel calls. */
const ALONE_MS = 10_000;

export function startToolsHost(era: 2025 | 2026, tools = someTools()): Promise<Host> {
  if (era === 2025) return startSessionHost(() => serverOf2025(tools));
  const node = toNodeHandler(createMcpHandler(() => serverOf2026(tools), { legacy: 'reject' }));
  return listen(undefined, (request, response, body) => node(request, response, body));
}

/** 300 tools, such as `create_invoice`. */
export function manyTools(): Tools {
  const actions = 'create list update delete archive share export import copy print'.split(' ');
  const things =
    'invoice customer calendar repository branch ticket message channel photo song recipe train flight hotel contract'.split(
      ' ',
    );
  const names = actions.flatMap((action) =>
    things.flatMap((thing) => [`${action}_${thing}`, `${action}_all_${thing}s`]),
  );
  return Object.fromEntries(names.map((name) => [name, () => `${name} was called`]));
}

/** `good` and `weak` answer when three calls have arrived. */
function someTools(): Tools {
  const { promise: areThree, resolve } = Promise.withResolvers<boolean>();
  let begun = 0;
  const together = () => {
    if (++begun === 3) resolve(true);
    return Promise.race([areThree, pause(ALONE_MS, false)]);
  };
  return {
    good: async () => ((await together()) ? 'all is well' : 'alone'),
    large: () => 'x'.repeat(2_000_000),
    weak: async () => {
      await together();
      throw new Error('the disk is full');
    },
  };
}
