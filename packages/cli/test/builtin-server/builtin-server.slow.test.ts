// A search of the built-in server that would never end.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, onTestFinished, test } from 'vitest';
import { quickStart } from '../../../pocket-agent/test/fixtures/programs/quick-start.ts';

const main = fileURLToPath(new URL('../../src/builtin-server/main.ts', import.meta.url));

test('a pattern that backtracks forever is stopped, and the server goes on', async () => {
  const cwd = await mkdtemp(join(tmpdir(), 'builtin-server-'));
  await writeFile(join(cwd, 'evil.txt'), `${'a'.repeat(60)}!\n`);
  const client = new Client({ name: 'test', version: '1' });
  onTestFinished(async () => {
    await client.close();
    await rm(cwd, { recursive: true });
  });
  const args = ['-C', 'pocket-agent/source', main];
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args, cwd, env: quickStart, stderr: 'inherit' }),
  );
  const call = async (name: string, input: Record<string, unknown>) =>
    JSON.stringify((await client.callTool({ name, arguments: input })).content);
  const endless = await call('search_text_files', { query: '^(a+)+$', regex: true, glob: 'evil.txt' });
  expect(endless).toContain('stopped at evil.txt because the search took too long');
  expect(await call('calculate', { expression: '1 + 1' })).toContain('1 + 1 = 2');
});
