// Directories under watch: one call when what happened in them has settled.
import { type FSWatcher, watch } from 'node:fs';
import { errorText } from '../errors.ts';
import type { Logger } from '../logger.ts';

/** Editors write a file in several steps. */
const SETTLE_MS = 50;
/** Where something is written all the time, nobody waits for the end of it. */
const LONGEST_MS = 1_000;

export class FolderWatcher {
  readonly #logger: Logger;
  readonly #onChange: () => void;
  readonly #watchers = new Map<string, FSWatcher>();
  #timer: NodeJS.Timeout | undefined;
  /** When the first of what has not settled yet happened. */
  #since: number | undefined;
  #isClosed = false;

  constructor(logger: Logger, onChange: () => void) {
    this.#logger = logger;
    this.#onChange = onChange;
  }

  /** Watches exactly these. */
  watch(directories: readonly string[]): void {
    if (this.#isClosed) return;
    for (const directory of this.#watchers.keys()) if (!directories.includes(directory)) this.#forget(directory);
    for (const directory of directories) if (!this.#watchers.has(directory)) this.#add(directory);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const directory of this.#watchers.keys()) this.#forget(directory);
  }

  #add(directory: string): void {
    try {
      const watcher = watch(directory, { persistent: false }, () => this.#soon());
      watcher.on('error', () => {
        this.#forget(directory);
        this.#soon();
      });
      this.#watchers.set(directory, watcher);
    } catch (error) {
      this.#logger.warn(`${directory} cannot be watched: ${errorText(error)}`);
    }
  }

  #forget(directory: string): void {
    this.#watchers.get(directory)?.close();
    this.#watchers.delete(directory);
  }

  #soon(): void {
    if (this.#isClosed) return;
    const now = performance.now();
    this.#since ??= now;
    if (now - this.#since > LONGEST_MS) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#since = undefined;
      this.#onChange();
    }, SETTLE_MS).unref();
  }
}
