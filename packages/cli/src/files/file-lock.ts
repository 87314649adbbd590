// A file that only one process may write at a time: who holds it stands in a file beside it.
import { readFileSync, rmSync } from 'node:fs';
import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { PocketError } from '@pocket-agent/kit';
import { makePrivateFolder } from '@pocket-agent/kit/private-files';

const YOUNG_MS = 10_000;
/** Files that this process has locked. */
const held = new Set<string>();

export class FileLock {
  readonly #file: string;
  readonly #content = `${process.pid} ${hostname()} ${startOf(process.pid)}`;
  readonly #atExit = () => this.#remove();

  private constructor(file: string) {
    this.#file = file;
  }

  /** Throws when another process that lives has it; the lock of one that is gone is taken over. */
  static async take(file: string, what: string): Promise<FileLock> {
    const lock = new FileLock(file);
    await makePrivateFolder(dirname(file));
    if (!(await lock.#create())) {
      const holder = await lock.#livingHolder();
      if (holder !== undefined || !(await lock.#takeOver())) {
        throw new PocketError(
          'CONFIG_INVALID',
          `${what} is in use by ${holder ? `process ${holder}` : 'another process'}. Close it there first; if nothing uses it, delete ${file}.`,
        );
      }
    }
    held.add(file);
    process.once('exit', lock.#atExit);
    return lock;
  }

  release(): void {
    process.off('exit', this.#atExit);
    held.delete(this.#file);
    this.#remove();
  }

  async #create(): Promise<boolean> {
    try {
      await writeFile(this.#file, this.#content, { mode: 0o600, flag: 'wx' });
      return true;
    } catch (error) {
      if (hasCode(error, 'EEXIST')) return false;
      throw error;
    }
  }

  /** Of another machine nobody here can tell whether a process lives. */
  async #livingHolder(): Promise<string | undefined> {
    const content = await readFile(this.#file, 'utf8').catch(() => '');
    if (content === '') return (await isYoung(this.#file)) ? 'that is just taking it' : undefined;
    const [pid = '', host = '', start = ''] = content.split(' ');
    const isAlive = host !== hostname() || this.#isHeldBy(Number(pid), start);
    return isAlive ? `${pid} on ${host}` : undefined;
  }

  /** In a container that was started again, another process has the number of the one that is gone. */
  #isHeldBy(pid: number, start: string): boolean {
    if (pid === process.pid) return held.has(this.#file);
    return lives(pid) && (start === '' || start === startOf(pid));
  }

  /** Two that find the same dead lock must not both take it: the breaking of it is locked too. */
  async #takeOver(): Promise<boolean> {
    const breaking = `${this.#file}.breaking`;
    if (!(await isYoung(breaking))) await rm(breaking, { force: true });
    try {
      await writeFile(breaking, this.#content, { mode: 0o600, flag: 'wx' });
    } catch {
      return false;
    }
    try {
      if ((await this.#livingHolder()) !== undefined) return false;
      await rename(breaking, this.#file);
      return true;
    } finally {
      await rm(breaking, { force: true });
    }
  }

  #remove(): void {
    try {
      if (readFileSync(this.#file, 'utf8') === this.#content) rmSync(this.#file, { force: true });
    } catch {
      // it is gone already
    }
  }
}

/** There, and written a moment ago: whoever made it is still at it. */
async function isYoung(file: string): Promise<boolean> {
  const { mtimeMs } = await stat(file).catch(() => ({ mtimeMs: 0 }));
  return Date.now() - mtimeMs < YOUNG_MS;
}

/** When a process was started, in ticks since the machine was; empty where the system does not tell. */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // the name of the program comes second, in brackets, and may contain anything
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return hasCode(error, 'EPERM');
  }
}

export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
