// `pocket-agent studio`: serves the page of the studio until it is stopped.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { CommandFolder, commandLine } from './fixtures/command.ts';

const folder = new CommandFolder();

test('prints an address with a token, serves the agents of files there, and ends when it is told to', async () => {
  const file = join(folder.path, 'desk.json');
  writeFileSync(file, JSON.stringify({ name: 'desk', roleDescription: 'Answers at the desk.' }));
  const [node = '', ...args] = [...commandLine, 'studio', file, '--model', 'demo', '--port', '0'];
  const studio = spawn(node, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let address = '';
  for await (const line of createInterface(studio.stderr)) {
    address = /^studio: (http:\S+)$/.exec(line)?.[1] ?? '';
    if (address) break;
  }
  const { origin, hash } = new URL(address);
  const authorization = `Bearer ${hash.slice('#token='.length)}`;
  const { body } = await fetch(`${origin}/api/events`, { headers: { authorization } });
  const first = await body?.getReader().read();
  expect(new TextDecoder().decode(first?.value)).toContain('"name":"desk"');
  expect((await fetch(`${origin}/api/events`)).status).toBe(401);
  expect(await (await fetch(origin)).text()).toContain('<title>Studio</title>');
  studio.kill('SIGTERM');
  expect(await once(studio, 'exit')).toEqual([143, null]);
});

test('names the option that chooses another port if the port is in use', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void other.close());
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const { code, stderr } = await folder.command(['studio', '--model', 'demo', '--port', `${port}`]);
  expect(code).toBe(2);
  expect(stderr).toContain(
    `pocket-agent: Cannot listen on 127.0.0.1 port ${port}: the port is in use (EADDRINUSE). Choose another port with --port; 0 takes one that is free.\n`,
  );
});
