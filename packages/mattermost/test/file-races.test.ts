// A folder that becomes a link between the check of a path and its use leads nowhere else.
import { mkdir, mkdtemp, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type Connection, connect } from './connect.ts';

/** Called after each check of a path: the moment that an attacker waits for. */
const race = vi.hoisted(() => ({ afterCheck: async (_path: string): Promise<void> => {} }));

vi.mock(import('node:fs/promises'), async (original) => {
  const fs = await original();
  const realpath = async (path: string) => {
    const real = await fs.realpath(path);
    await race.afterCheck(real);
    return real;
  };
  return { ...fs, realpath: realpath as typeof fs.realpath };
});

let folder: string;
let connection: Connection;
const inside = () => join(folder, 'root', 'sub');
const outside = () => join(folder, 'outside');

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mattermost-races-'));
  await mkdir(inside(), { recursive: true });
  await mkdir(outside());
  await writeFile(join(inside(), 'note.txt'), 'inside');
  await writeFile(join(outside(), 'note.txt'), 'secret');
  connection = await connect({ environment: { MATTERMOST_FILE_ROOTS: join(folder, 'root') } });
});

afterEach(async () => {
  race.afterCheck = async () => {};
  await connection.close();
  await rm(folder, { recursive: true });
});

function swapAfterCheckOf(path: string): void {
  race.afterCheck = async (checked) => {
    if (checked !== path) return;
    race.afterCheck = async () => {};
    await rename(inside(), `${inside()}.away`);
    await symlink(outside(), inside());
  };
}

test('a file outside is not uploaded', async () => {
  swapAfterCheckOf(join(inside(), 'note.txt'));
  const channel_id = connection.fake.channel('off-topic').id;
  const { text, isError } = await connection.call('upload_file', { channel_id, file_path: 'sub/note.txt' });
  expect({ text, isError }).toEqual({
    text: 'File error: "sub/note.txt" changed while it was opened.',
    isError: true,
  });
});

test('a file is not written outside', async () => {
  const channel_id = connection.fake.channel('off-topic').id;
  const sent = await connection.call('upload_file', { channel_id, file_path: 'sub/note.txt' });
  swapAfterCheckOf(inside());
  const { text } = await connection.call('download_file', { file_id: sent.data.id, destination_dir: 'sub' });
  expect(text).toContain('changed while it was used');
  expect(await readdir(outside())).toEqual(['note.txt']);
});
