// A folder that is replaced by a link between check and use gives no access outside the roots.
import fs, { mkdir, mkdtemp, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Connection, connect } from '../connect.ts';

const { realpath } = fs;
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
  fs.realpath = realpath;
  syncBuiltinESMExports();
  await connection.close();
  await rm(folder, { recursive: true });
});

/** Runs `act` after each path check, as an attacker would. */
function afterCheck(act: (checked: string) => Promise<void>): void {
  const checking = async (path: string) => {
    const checked = await realpath(path);
    await act(checked);
    return checked;
  };
  fs.realpath = checking as typeof realpath;
  syncBuiltinESMExports();
}

function swapAfterCheckOf(path: string): void {
  let isSwapped = false;
  afterCheck(async (checked) => {
    if (checked !== path || isSwapped) return;
    isSwapped = true;
    await rename(inside(), `${inside()}.away`);
    await symlink(outside(), inside());
  });
}

test('a file outside is not uploaded', async () => {
  swapAfterCheckOf(join(inside(), 'note.txt'));
  const channel_id = connection.fake.channel('off-topic').id;
  const { text, isError } = await connection.call('upload_file', { channel_id, file_path: 'sub/note.txt' });
  expect({ text, isError }).toEqual({
    text: 'File error: "sub/note.txt" changed while it was being opened.',
    isError: true,
  });
});

test('a file is not written outside', async () => {
  const channel_id = connection.fake.channel('off-topic').id;
  const sent = await connection.call('upload_file', { channel_id, file_path: 'sub/note.txt' });
  swapAfterCheckOf(inside());
  const { text } = await connection.call('download_file', { file_id: sent.data.id, destination_dir: 'sub' });
  expect(text).toContain('changed while it was being used');
  expect(await readdir(outside())).toEqual(['note.txt']);
});
