// Files: exact content, only inside the roots, never partial.

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Connection, type ConnectOptions, connect } from '../connect.ts';

let folder: string;
let root: string;
let connection: Connection;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mattermost-files-'));
  root = join(folder, 'root');
  await mkdir(join(root, 'sub'), { recursive: true });
  await writeFile(join(folder, 'outside.txt'), 'secret');
});

afterEach(async () => {
  await connection?.close();
  await rm(folder, { recursive: true });
});

async function start(options: ConnectOptions = {}): Promise<Connection> {
  connection = await connect({ environment: { MATTERMOST_FILE_ROOTS: root }, ...options });
  return connection;
}

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const channelId = () => connection.fake.channel('off-topic').id;
const upload = (args: Record<string, unknown>, options = {}) =>
  connection.call('upload_file', { channel_id: channelId(), ...args }, options);

async function contentOf(id: string): Promise<Buffer> {
  const response = await fetch(`${connection.fake.url}/api/v4/files/${id}`, {
    headers: { authorization: `Bearer ${connection.fake.token('alice')}` },
  });
  return Buffer.from(await response.arrayBuffer());
}

function noise(size: number): Buffer {
  const bytes = Buffer.alloc(size);
  for (let index = 0; index < size; index += 4) bytes.writeUInt32LE((index * 2_654_435_761) >>> 0, index);
  return bytes;
}

test('12 MB are uploaded and downloaded unchanged, with progress', async () => {
  await start();
  const bytes = noise(12_000_000);
  await writeFile(join(root, 'big.bin'), bytes);
  const told: number[] = [];
  const sent = await upload(
    { file_path: 'big.bin' },
    { onprogress: ({ progress }: { progress: number }) => told.push(progress), timeout: 60_000 },
  );
  expect(sent.data).toMatchObject({ name: 'big.bin', size: bytes.length });
  expect(told.length).toBeGreaterThan(10);
  expect(told).toEqual(told.toSorted((a, b) => a - b));
  const saved = await connection.call(
    'download_file',
    { file_id: sent.data.id, filename: 'again.bin' },
    { timeout: 60_000 },
  );
  expect(saved.data).toMatchObject({ path: join(root, 'again.bin'), size: bytes.length });
  expect(sha256(await readFile(join(root, 'again.bin')))).toBe(sha256(bytes));
});

test('content that looks like a multipart form and an empty file are uploaded unchanged', async () => {
  await start();
  for (const content of ['', '\r\n--boundary--\r\n', '\0\xff\r\n\r\n']) {
    const bytes = Buffer.from(content, 'latin1');
    const { data, text } = await upload({ content_base64: bytes.toString('base64'), filename: 'odd "name".bin' });
    expect([text, data?.size]).toEqual([expect.anything(), bytes.length]);
    expect(await contentOf(data.id)).toEqual(bytes);
  }
});

test('a rate-limited upload is retried from the start', async () => {
  await start();
  connection.fake.fail({ method: 'POST', path: /files/, status: 429, times: 2 });
  await writeFile(join(root, 'a.bin'), noise(1_000_000));
  const { data } = await upload({ file_path: 'a.bin' });
  expect(sha256(await contentOf(data.id))).toBe(sha256(noise(1_000_000)));
});

test.each([
  ['outside of the root', '../outside.txt'],
  ['absolute and elsewhere', '/etc/hostname'],
  ['a link to a file elsewhere', 'link.txt'],
  ['below a link to a folder elsewhere', 'linked/outside.txt'],
  ['not there', 'missing.txt'],
])('a file %s is refused with the same message', async (_, file_path) => {
  await symlink(join(folder, 'outside.txt'), join(root, 'link.txt'));
  await symlink(folder, join(root, 'linked'));
  await start();
  const { isError, text } = await upload({ file_path });
  expect(isError).toBe(true);
  expect(text).toBe(`Refused: "${file_path}" does not exist or is not inside ${root} (MATTERMOST_FILE_ROOTS).`);
  expect(connection.fake.requests).toEqual([]);
});

test('folders and sockets are refused', async () => {
  const server = createServer().listen(join(root, 'socket'));
  await once(server, 'listening');
  await start();
  for (const file_path of ['sub', 'socket', '.']) expect((await upload({ file_path })).text).toMatch(/^File error/);
  server.close();
});

test('without configured folders local files are disabled', async () => {
  await start({ environment: {} });
  expect((await upload({ file_path: join(root, 'a') })).text).toContain('MATTERMOST_FILE_ROOTS is not set');
  const [file_id = ''] = connection.fake.post('notes').file_ids;
  expect((await connection.call('download_file', { file_id })).text).toContain('MATTERMOST_FILE_ROOTS is not set');
});

test('a link that stays inside the root works', async () => {
  await writeFile(join(root, 'sub', 'real.txt'), 'real');
  await symlink(join(root, 'sub', 'real.txt'), join(root, 'alias.txt'));
  await start();
  expect((await upload({ file_path: join(root, 'alias.txt') })).data).toMatchObject({ name: 'real.txt', size: 4 });
});

test('files above the limit are refused: upload by path, upload by content, and download', async () => {
  await start({ config: { maxFileBytes: 10, fileRoots: [root] } });
  await writeFile(join(root, 'large.txt'), 'more than ten');
  expect((await upload({ file_path: 'large.txt' })).text).toContain('MATTERMOST_MAX_FILE_MB');
  const content_base64 = Buffer.from('more than ten').toString('base64');
  expect((await upload({ content_base64, filename: 'x' })).text).toContain('MATTERMOST_MAX_FILE_MB');
  const [file_id = ''] = connection.fake.post('notes').file_ids;
  expect((await connection.call('download_file', { file_id })).text).toContain('MATTERMOST_MAX_FILE_MB');
  expect(await readdir(root)).toEqual(['large.txt', 'sub']);
});

test('a file that Mattermost rejects as too large is reported although it closes the connection', async () => {
  await start({ fake: { maxFileSize: 1000 } });
  await writeFile(join(root, 'large.bin'), noise(6_000_000));
  const { isError, text } = await upload({ file_path: 'large.bin' });
  expect(isError).toBe(true);
  expect(text).toMatch(/^Client error: .*status=413/);
});

test('on_conflict keeps, renames or replaces an existing file', async () => {
  await start();
  await writeFile(join(root, 'notes.txt'), 'mine');
  const [file_id = ''] = connection.fake.post('notes').file_ids;
  const download = (args: object = {}) => connection.call('download_file', { file_id, ...args });
  expect((await download()).text).toContain('already exists');
  expect((await download({ on_conflict: 'rename' })).data.path).toBe(join(root, 'notes (1).txt'));
  expect((await download({ on_conflict: 'rename' })).data.path).toBe(join(root, 'notes (2).txt'));
  expect(await readFile(join(root, 'notes.txt'), 'utf8')).toBe('mine');
  await download({ on_conflict: 'overwrite' });
  expect(await readFile(join(root, 'notes.txt'), 'utf8')).toBe('First line\nSecond line\n');
  expect(await readdir(root)).toEqual(['notes (1).txt', 'notes (2).txt', 'notes.txt', 'sub']);
});

test.each([
  ['../../escape.txt', 'escape.txt'],
  ['/etc/passwd', 'passwd'],
  ['a\\b\\c.txt', 'c.txt'],
  ['a\u202efdp.\u2066exe\u0085\n', 'afdp.exe'],
  [`${'ü'.repeat(200)}.txt`, `${'ü'.repeat(125)}.txt`],
])('a download named %s stays in its folder', async (filename, expected) => {
  await start();
  const [file_id = ''] = connection.fake.post('notes').file_ids;
  const { data, text } = await connection.call('download_file', { file_id, filename, destination_dir: 'sub' });
  expect([text, data?.path]).toEqual([expect.anything(), join(root, 'sub', expected)]);
});

test('a download outside the roots is refused, also through a link', async () => {
  await symlink(folder, join(root, 'linked'));
  await start();
  const [file_id = ''] = connection.fake.post('notes').file_ids;
  for (const destination_dir of ['..', 'linked', folder]) {
    expect((await connection.call('download_file', { file_id, destination_dir })).text).toMatch(/^Refused/);
  }
  expect(await readdir(folder)).toEqual(['outside.txt', 'root']);
});

test('an interrupted download is retried and leaves no file if it fails', async () => {
  await start({ config: { maxRetries: 1, fileRoots: [root], backoffMs: 2 } });
  const [file_id = ''] = connection.fake.post('notes').file_ids;
  connection.fake.fail({ path: /files\/\w+$/, reset: 'mid-body' });
  expect((await connection.call('download_file', { file_id })).isError).toBe(false);
  expect(await readFile(join(root, 'notes.txt'), 'utf8')).toBe('First line\nSecond line\n');
  connection.fake.fail({ path: /files\/\w+$/, reset: 'mid-body', times: 5 });
  expect((await connection.call('download_file', { file_id, filename: 'never.txt' })).isError).toBe(true);
  expect(await readdir(root)).toEqual(['notes.txt', 'sub']);
});

test('images are returned as images, text in pieces; other types refer to download_file', async () => {
  await start();
  const png = Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=',
    'base64',
  );
  const send = async (filename: string, bytes: Buffer) =>
    (await upload({ content_base64: bytes.toString('base64'), filename })).data.id;
  const image = await connection.call('get_file_content', { file_id: await send('dot.png', png) });
  expect(image.content).toEqual([{ type: 'image', mimeType: 'image/png', data: png.toString('base64') }]);
  expect(image.data).toMatchObject({ name: 'dot.png', size: png.length });

  const text = await send('long.txt', Buffer.from('äbc'.repeat(1000)));
  const first = await connection.call('get_file_content', { file_id: text, max_chars: 2000 });
  expect(first.data).toMatchObject({ truncated: true, next: { offset: 2000, max_chars: 2000 } });
  const second = await connection.call('get_file_content', { file_id: text, ...first.data.next });
  expect(first.text + second.text).toBe('äbc'.repeat(1000));
  expect(second.data.truncated).toBe(false);

  const binary = await connection.call('get_file_content', { file_id: await send('x.bin', Buffer.from([0, 255, 1])) });
  expect(binary.text).toContain('Use download_file');
});
