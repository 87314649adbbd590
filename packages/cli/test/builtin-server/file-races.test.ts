import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { folder } from '../../../pocket-agent/test/fixtures/world.ts';
import { readText } from '../../src/builtin-server/file-access.ts';

test('a folder replaced by a link while a file is opened does not lead outside', async () => {
  const outer = folder();
  const [root, inside, outside] = [join(outer, 'root'), join(outer, 'root', 'sub'), join(outer, 'outside')];
  for (const path of [root, inside, outside]) mkdirSync(path);
  writeFileSync(join(inside, 'note.txt'), 'inside');
  writeFileSync(join(outside, 'note.txt'), 'outside');
  const swapper = new Worker(new URL('./swap-folders.ts', import.meta.url), {
    workerData: { inside, outside },
  });
  const read = new Set<string>();
  // until the folder was replaced between the check and the opening of the file, several times
  for (let races = 0; (races < 5 || read.size === 0) && !read.has('outside'); ) {
    await readText(root, 'sub/note.txt').then(
      (text) => read.add(text),
      (error) => error.message.includes('changed while it was opened') && races++,
    );
  }
  await swapper.terminate();
  expect([...read]).toEqual(['inside']);
});
