// close() leaves nothing open, so that programs end by themselves.
import { execFile, spawn } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { startLegacyHost, startModernHost, startOldSseHost } from '../../fixtures/servers/http-hosts.ts';
import { fixture, open, stdio } from '../../fixtures/world.ts';

test('a program ends by itself after its client was closed, with any transport', async () => {
  const hosts = await Promise.all([open(startLegacyHost()), open(startModernHost()), open(startOldSseHost())]);
  const gone = await startLegacyHost();
  await gone.close();
  const mcpServers = {
    ...Object.fromEntries(hosts.map(({ url }, index) => [`http${index}`, { url }])),
    child: stdio('stdio-server.ts'),
    gone: { url: gone.url },
  };
  const args = ['-C', 'pocket-agent/source', fixture('script.ts'), JSON.stringify({ mcpServers })];
  const script = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  let closedAt = 0;
  script.stdout.on('data', (chunk: Buffer) => {
    output += chunk;
    if (output.includes('closed')) closedAt = Date.now();
  });
  const code = await new Promise((resolve) => script.once('exit', resolve));
  expect(code).toBe(0);
  expect(output).toMatch(/^\d\d\nclosed\n$/);
  expect(Date.now() - closedAt).toBeLessThan(15_000);
});

test('a program ends by itself after its server was closed', async () => {
  const script = fixture('programs/served-over-http.ts');
  const { stdout } = await promisify(execFile)(process.execPath, ['-C', 'pocket-agent/source', script], {
    timeout: 20_000 * Number(process.env.TEST_PATIENCE),
  });
  expect(stdout).toBe('closed\n');
});
