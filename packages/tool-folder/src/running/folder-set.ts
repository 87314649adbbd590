// Reads, reloads, starts and stops the tool folders of one path.
import { basename } from 'node:path';
import type { Tool } from '@modelcontextprotocol/client';
import { errorText, type Logger } from '@pocket-agent/kit';
import type { Capability } from 'pocket-agent';
import { type ManifestProblem, problemText, undeclaredText } from '../manifest/problem.ts';
import { digestOf, directoriesToWatch, findFolders } from '../reading/find-folders.ts';
import { type ParsedFolder, readFolder } from '../reading/read-folder.ts';
import { FolderWatcher } from '../reading/watcher.ts';
import { RunningFolder, type RunningOptions } from './running-folder.ts';

/** The current state of one folder. */
export interface FolderState {
  /** The name of the directory. */
  readonly name: string;
  readonly humanName: string;
  readonly path: string;
  /** Whether the folder is active. Its tools are offered if it has no problems. */
  readonly active: boolean;
  /** The tools of the manifest, without those of its MCP servers. */
  readonly tools: readonly Tool[];
  /** The tools that declare no capability and count as `delete`. */
  readonly undeclared: readonly string[];
  /** The skill of its SKILL.md, if it has one. */
  readonly skill: { readonly name: string; readonly description: string } | undefined;
  /** The problems of the current files. A running folder that an edit broke keeps its old `tools`. */
  readonly problems: readonly ManifestProblem[];
}

interface FolderSetOptions {
  path: string;
  logger: Logger;
  env: Readonly<Record<string, string | undefined>>;
  defaultCapability: Capability | undefined;
  loadTimeoutMs: number;
  running: RunningOptions;
  /** Called when files under `path` have changed; without it they are not watched. */
  onEdit?: (() => void) | undefined;
}

interface Slot {
  /** The newest version without problems; if there is none, the newest. */
  parsed: ParsedFolder;
  /** The problems of the current files. */
  problems: readonly ManifestProblem[];
  /** Why `parsed` could not start. */
  failure: ManifestProblem | undefined;
  digest: string;
  running: RunningFolder | undefined;
}

export class FolderSet {
  readonly #options: FolderSetOptions;
  readonly #watcher: FolderWatcher | undefined;
  /** By folder name, sorted. */
  #slots = new Map<string, Slot>();
  readonly #retiring = new Map<RunningFolder, Promise<void>>();
  #isActive: (name: string) => boolean = () => false;
  /** The revisions of stopped folders, so that `revision` never decreases. */
  #pastRevisions = 0;

  constructor(options: FolderSetOptions) {
    this.#options = options;
    if (options.onEdit) this.#watcher = new FolderWatcher(options.logger, options.onEdit);
  }

  get names(): string[] {
    return [...this.#slots.keys()];
  }

  get states(): FolderState[] {
    return [...this.#slots].map(([name, { parsed, running, ...slot }]) => {
      const problems = slot.failure ? [...slot.problems, slot.failure] : slot.problems;
      const { humanName, path, tools, undeclared, ...folder } = running?.folder ?? parsed;
      const isUsable = running !== undefined || problems.length === 0;
      const definitions = isUsable ? [...tools.values()].map(({ definition }) => definition) : [];
      const skill = isUsable ? folder.skill : undefined;
      return { name, humanName, path, active: this.#isActive(name), tools: definitions, undeclared, skill, problems };
    });
  }

  get running(): RunningFolder[] {
    return [...this.#slots.values()].flatMap(({ running }) => running ?? []);
  }

  runningFolder(name: string): RunningFolder | undefined {
    return this.#slots.get(name)?.running;
  }

  /** Increases when the tool list of an MCP server of a running folder changes. */
  get revision(): number {
    return this.running.reduce((sum, { client }) => sum + (client?.revision ?? 0), this.#pastRevisions);
  }

  /** Reads new and edited folders, and removes deleted ones. Returns whether anything changed. */
  async scan(): Promise<boolean> {
    const { path } = this.#options;
    // watch before reading, so that no change is missed
    this.#watcher?.watch(await directoriesToWatch(path));
    const paths = await findFolders(path);
    const gone = [...this.#slots].filter(([, { parsed }]) => !paths.includes(parsed.path));
    for (const [name, slot] of gone) {
      this.#slots.delete(name);
      this.#retire(slot.running);
    }
    const changes = (await Promise.all(paths.map((folder) => this.#readChanged(folder)))).filter(
      (change) => change !== undefined,
    );
    for (const { parsed, digest } of changes) this.#update(parsed, digest);
    this.#slots = new Map([...this.#slots].sort(([a], [b]) => (a < b ? -1 : 1)));
    return gone.length + changes.length > 0;
  }

  /** Starts the newest version of active folders without problems, and stops the others. */
  run(isActive: (name: string) => boolean): void {
    this.#isActive = isActive;
    for (const [name, slot] of this.#slots) {
      if (!isActive(name)) {
        this.#retire(slot.running);
        slot.running = undefined;
      } else if (slot.running?.folder !== slot.parsed && slot.parsed.problems.length === 0) this.#start(slot);
    }
  }

  async close(): Promise<void> {
    this.#watcher?.close();
    const all = [...this.running, ...this.#retiring.keys()];
    await Promise.all(all.map((folder) => folder.close()));
    await Promise.all(this.#retiring.values());
  }

  async #readChanged(path: string): Promise<{ parsed: ParsedFolder; digest: string } | undefined> {
    const { env, defaultCapability, loadTimeoutMs: timeoutMs } = this.#options;
    const digest = this.#watcher ? await digestOf(path) : '';
    if (this.#slots.get(basename(path))?.digest === digest) return undefined;
    const version = this.#watcher ? { version: digest } : {};
    return { parsed: await readFolder(path, { env, defaultCapability, timeoutMs, ...version }), digest };
  }

  #update(parsed: ParsedFolder, digest: string): void {
    const { problems } = parsed;
    for (const problem of [...problems, ...parsed.warnings]) this.#options.logger.warn(problemText(problem));
    const slot = this.#slots.get(parsed.name);
    const undeclared = problems.length > 0 ? undefined : undeclaredText(parsed);
    if (undeclared && undeclared !== (slot && undeclaredText(slot.parsed))) this.#options.logger.warn(undeclared);
    if (!slot) this.#slots.set(parsed.name, { parsed, digest, problems, failure: undefined, running: undefined });
    else
      Object.assign(slot, {
        digest,
        problems,
        failure: undefined,
        ...(slot.running && problems.length > 0 ? {} : { parsed }),
      });
  }

  #start(slot: Slot): void {
    const { parsed, running: before } = slot;
    try {
      slot.running = new RunningFolder(parsed, this.#options.running);
      slot.failure = undefined;
      this.#retire(before);
    } catch (error) {
      const found = `an error in the constructor of Tools: ${errorText(error)}`;
      slot.failure = {
        file: parsed.codeFile,
        line: 1,
        column: 1,
        found,
        expected: 'a constructor that does not throw',
      };
      this.#options.logger.warn(problemText(slot.failure));
    }
  }

  #retire(running: RunningFolder | undefined): void {
    if (!running) return;
    this.#pastRevisions += 1 + (running.client?.revision ?? 0);
    const retired = running.retire().then(() => void this.#retiring.delete(running));
    this.#retiring.set(running, retired);
  }
}
