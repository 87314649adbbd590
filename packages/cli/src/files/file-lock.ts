// A lock file: only one process at a time can hold it. It contains the process id, host name and start time.
import { readFileSync, rmSync } from 'node:fs';
import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { PocketError } from '@pocket-agent/kit';
import { makePrivateFolder } from '@pocket-agent/kit/private-files';

/** Another process may still be writing a lock file that is younger than this. */
const YOUNG_MS = 10_000;
/** Lock files that this process holds. */
const held = new Set<string>();

export class FileLock {
  readonly #file: string;
  readonly #content = `${process.pid} ${hostname()} ${startTimeOf(process.pid)}`;
  readonly #atExit = () => this.#remove();

  private constructor(file: string) {
    this.#file = file;
  }

  /** Throws if a running process holds the lock; takes over the lock of a process that has ended. */
  static async take(file: string, what: string): Promise<FileLock> {
    const lock = new FileLock(file);
    await makePrivateFolder(dirname(file));
    if (!(await lock.#create())) {
      const holder = await lock.#runningHolder();
      if (holder !== undefined || !(await lock.#takeOver())) {
        throw new PocketError(
          'CONFIG_INVALID',
          `${what} is in use by ${holder ? `process ${holder}` : 'another process'}. Close it there, or delete ${file} if nothing uses it.`,
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

  /** The holder, if it still runs. Processes on other machines count as running, because that cannot be checked. */
  async #runningHolder(): Promise<string | undefined> {
    const content = await readFile(this.#file, 'utf8').catch(() => '');
    if (content === '') return (await isYoung(this.#file)) ? 'that is just starting' : undefined;
    const [pid = '', host = '', start = ''] = content.split(' ');
    const isAlive = host !== hostname() || this.#isHeldBy(Number(pid), start);
    return isAlive ? `${pid} on ${host}` : undefined;
  }

  /** Compares start times too: a restarted container reuses process ids. */
  #isHeldBy(pid: number, start: string): boolean {
    if (pid === process.pid) return held.has(this.#file);
    return isRunning(pid) && (start === '' || start === startTimeOf(pid));
  }

  /** Two processes that find the same stale lock must not both take it, so taking over has a lock of its own. */
  async #takeOver(): Promise<boolean> {
    const breaking = `${this.#file}.breaking`;
    if (!(await isYoung(breaking))) await rm(breaking, { force: true });
    try {
      await writeFile(breaking, this.#content, { mode: 0o600, flag: 'wx' });
    } catch {
      return false;
    }
    try {
      if ((await this.#runningHolder()) !== undefined) return false;
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
      // already removed
    }
  }
}

/** True if the file exists and was written a moment ago. */
async function isYoung(file: string): Promise<boolean> {
  const { mtimeMs } = await stat(file).catch(() => ({ mtimeMs: 0 }));
  return Date.now() - mtimeMs < YOUNG_MS;
}

/** The start time of a process in ticks since boot; empty where the system has no /proc. */
function startTimeOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // the second field is the program name in parentheses and may contain anything
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}

function isRunning(pid: number): boolean {
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
