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

test('with --pages, the demo ends in a hub that shows its agents and accepts its token', async () => {
  const file = fileURLToPath(new URL('../../demo/run.ts', import.meta.url));
  const args = ['-C', 'pocket-agent/source', file, '--pages'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  const ended = once(child, 'close');
  try {
    let output = '';
    for await (const chunk of child.stdout) {
      output += chunk;
      if (output.includes('Ctrl+C ends the demo')) break;
    }
    const [, url = ''] = /Agent3 is at (\S+)/.exec(output) ?? [];
    const [, token = ''] = /(a3_you_\S+)/.exec(output) ?? [];
    expect(await (await fetch(url)).text()).toContain('Weather Frog');
    const account = await fetch(new URL('api/account', url), { headers: { authorization: `Bearer ${token}` } });
    expect(await account.json()).toMatchObject({ owner: 'you', isAdmin: true });
  } finally {
    child.kill('SIGINT');
    await ended;
  }
});
