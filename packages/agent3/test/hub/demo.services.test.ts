import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

test('the demo finds, calls and rates three real agents in two ways, and exits', async () => {
  const file = fileURLToPath(new URL('../../demo/run.ts', import.meta.url));
  const child = spawn(process.execPath, ['-C', 'pocket-agent/source', file], { stdio: ['ignore', 'pipe', 'pipe'] });
  const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  // on a busy machine a warning about a slow server is allowed
  const faults = errors.replace(/^\[pocket-agent\] warn: MCP server "agent3" has not answered within .*\n/m, '');
  expect({ code, faults }).toEqual({ code: 0, faults: '' });
  expect(output).toContain('Tomorrow in Oslo: sunny, 24 °C.');
  expect(output).toContain('guten Morgen, Welt');
  expect(output).toContain('The sum is 42.');
  expect(output).toContain('Tomorrow in Lisbon: windy, 17 °C.');
  expect(output).toMatch(/its reputation is 4\.\d+ now/);
});
