// The benchmark of the search with few agents; bench/agent3/RESULTS.md has the figures of a million.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

test('the search benchmark fills a PostgreSQL database and measures every kind of search', async () => {
  const file = fileURLToPath(new URL('../../../../bench/agent3/run.ts', import.meta.url));
  const args = ['-C', 'pocket-agent/source', file, '--agents', '5000', '--searches', '32'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'close')]);
  expect(code).toBe(0);
  expect(output.match(/^\| .*( \| [\d.]+){4} \|$/gm)).toHaveLength(9);
});
