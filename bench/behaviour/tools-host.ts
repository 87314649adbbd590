// An HTTP server with tools that return large results, fail, or succeed.
import { setTimeout as pause } from 'node:timers/promises';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { type Host, listen, startSessionHost } from '../../packages/pocket-agent/test/fixtures/servers/http-hosts.ts';
import { serverOf2025, serverOf2026, type Tools } from './tools-server.ts';

/** How long a call waits for the others. */
const ALONE_MS = 10_000;

export function startToolsHost(era: 2025 | 2026): Promise<Host> {
  const tools = someTools();
  if (era === 2025) return startSessionHost(() => serverOf2025(tools));
  const node = toNodeHandler(createMcpHandler(() => serverOf2026(tools), { legacy: 'reject' }));
  return listen(undefined, (request, response, body) => node(request, response, body));
}

/** `good` and `weak` answer as soon as three calls have arrived. */
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
