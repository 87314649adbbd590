// Whole tool results in private files that expire, with a limit for all files of a folder.
import { open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isRecord } from '@pocket-agent/kit';
import { writePrivately } from '@pocket-agent/kit/private-files';
import type { OpenResult, ResultOrigin, ResultStore, WholeResult } from './result-pages.ts';

interface FileLimits {
  folder: string;
  expiresAfterMs: number;
  maxTotalBytes: number;
}

/** How often a folder is searched for expired files. */
const PURGE_INTERVAL_MS = 60_000;
const MAX_FILES = 10_000;
/** Names of tools are shorter. */
const MAX_HEADER_BYTES = 4_096;
const fileName = /^result-[0-9a-f]{20}\.txt(\..+\.tmp)?$/;

/** The size of each folder, shared by all agents of this process. */
const folders = new Map<string, { purgedAt: number; bytes: number; files: number }>();

/** The first line of a file is its origin in JSON. */
export class ResultFiles implements ResultStore {
  readonly #limits: FileLimits;
  readonly #folder: string;

  constructor(limits: FileLimits) {
    this.#limits = limits;
    this.#folder = limits.folder;
  }

  async keep(id: string, { text, ...header }: WholeResult): Promise<boolean> {
    const line = `${JSON.stringify(header)}\n`;
    const bytes = Buffer.byteLength(text) + Buffer.byteLength(line);
    if (bytes > this.#limits.maxTotalBytes / 4 || Buffer.byteLength(line) > MAX_HEADER_BYTES) return false;
    await this.#makeRoom(bytes);
    await writePrivately(this.#file(id), line + text);
    const known = folders.get(this.#folder);
    if (known) {
      known.bytes += bytes;
      known.files++;
    }
    return true;
  }

  async open(id: string): Promise<OpenResult | undefined> {
    const file = await open(this.#file(id), 'r').catch(() => undefined);
    if (!file) return undefined;
    const { size, mtimeMs } = await file.stat();
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_HEADER_BYTES), 0, MAX_HEADER_BYTES, 0);
    const end = buffer.subarray(0, bytesRead).indexOf('\n') + 1;
    const header = readHeader(buffer.toString('utf8', 0, end));
    if (mtimeMs + this.#limits.expiresAfterMs <= Date.now() || !header) {
      await file.close();
      return undefined;
    }
    return {
      ...header,
      bytes: size - end,
      read: async (from, length) => {
        const { buffer: page, bytesRead: read } = await file.read(Buffer.alloc(length), 0, length, end + from);
        return page.subarray(0, read);
      },
      close: () => file.close(),
    };
  }

  async remove(id: string): Promise<void> {
    await rm(this.#file(id), { force: true });
  }

  #file(id: string): string {
    return join(this.#folder, `${id}.txt`);
  }

  async #makeRoom(bytes: number): Promise<void> {
    const { maxTotalBytes } = this.#limits;
    const known = folders.get(this.#folder);
    const isFull = !known || known.bytes + bytes > maxTotalBytes || known.files >= MAX_FILES;
    if (known && !isFull && Date.now() - known.purgedAt < PURGE_INTERVAL_MS) return;
    folders.set(this.#folder, { purgedAt: Date.now(), ...(await this.#purge(maxTotalBytes - bytes)) });
  }

  /** Deletes expired files, and the oldest others until those that are left fit into `maxBytes`. */
  async #purge(maxBytes: number): Promise<{ bytes: number; files: number }> {
    const names = (await readdir(this.#folder).catch(() => [])).filter((name) => fileName.test(name));
    const found = await Promise.all(
      names.map(async (name) => {
        const path = join(this.#folder, name);
        const { size, mtimeMs } = await stat(path).catch(() => ({ size: 0, mtimeMs: 0 }));
        return { path, size, mtimeMs };
      }),
    );
    const newestFirst = found.sort((one, other) => other.mtimeMs - one.mtimeMs);
    const oldest = Date.now() - this.#limits.expiresAfterMs;
    let bytes = 0;
    let files = 0;
    for (const { path, size, mtimeMs } of newestFirst) {
      if (mtimeMs > oldest && bytes + size <= maxBytes && files < MAX_FILES - 1) {
        bytes += size;
        files++;
      } else await rm(path, { force: true }).catch(() => {});
    }
    return { bytes, files };
  }
}

function readHeader(line: string): ResultOrigin | undefined {
  try {
    const header: unknown = JSON.parse(line);
    if (!isRecord(header)) return undefined;
    const { tool, toolCallId } = header;
    return typeof tool === 'string' && typeof toolCallId === 'string' ? { tool, toolCallId } : undefined;
  } catch {
    return undefined;
  }
}
