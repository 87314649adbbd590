// Watches directories, and reports a burst of changes once.
import { type FSWatcher, statSync, watch } from 'node:fs';
import { errorText, type Logger } from '@pocket-agent/kit';

/** Wait this long for the next change: editors write a file in several steps. */
const SETTLE_MS = 50;
/** Report after this time even if changes continue. */
const MAX_WAIT_MS = 1_000;

interface Watched {
  watcher: FSWatcher;
  identity: string | undefined;
}

export class FolderWatcher {
  readonly #logger: Logger;
  readonly #onChange: () => void;
  readonly #watchers = new Map<string, Watched>();
  #timer: NodeJS.Timeout | undefined;
  /** The time of the first change that is not reported yet. */
  #firstChangeAt: number | undefined;
  #isClosed = false;

  constructor(logger: Logger, onChange: () => void) {
    this.#logger = logger;
    this.#onChange = onChange;
  }

  /** Watches exactly these directories. */
  watch(directories: readonly string[]): void {
    if (this.#isClosed) return;
    for (const [directory, { identity }] of this.#watchers) {
      // a new directory with the same name needs a new watcher
      if (!directories.includes(directory) || identityOf(directory) !== identity) this.#forget(directory);
    }
    for (const directory of directories) if (!this.#watchers.has(directory)) this.#add(directory);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const directory of this.#watchers.keys()) this.#forget(directory);
  }

  #add(directory: string): void {
    try {
      const identity = identityOf(directory);
      const watcher = watch(directory, { persistent: false }, () => this.#scheduleReport());
      watcher.on('error', () => {
        this.#forget(directory);
        this.#scheduleReport();
      });
      this.#watchers.set(directory, { watcher, identity });
    } catch (error) {
      this.#logger.warn(`Cannot watch ${directory}: ${errorText(error)}`);
    }
  }

  #forget(directory: string): void {
    this.#watchers.get(directory)?.watcher.close();
    this.#watchers.delete(directory);
  }

  #scheduleReport(): void {
    if (this.#isClosed) return;
    const now = performance.now();
    this.#firstChangeAt ??= now;
    if (now - this.#firstChangeAt > MAX_WAIT_MS) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#firstChangeAt = undefined;
      this.#onChange();
    }, SETTLE_MS).unref();
  }
}

/** Differs after a directory was replaced. Undefined if it does not exist. */
function identityOf(directory: string): string | undefined {
  try {
    const { dev, ino, birthtimeMs } = statSync(directory);
    return `${dev} ${ino} ${birthtimeMs}`;
  } catch {
    return undefined;
  }
}
