// The tool folders that can be chosen. Folders come and go while the bot runs; each is loaded when it is first used.
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  bundledFolderPath,
  bundledFolders,
  type FolderState,
  type HostContext,
  loadToolFolder,
  problemText,
  type ToolFolder,
  type ToolFolderOptions,
} from '@pocket-agent/tool-folder';
import type { Capability, Logger, ToolSource } from 'pocket-agent';
import { DiscordBotError, messageOf } from '../base/errors.ts';
import { failedTool } from './tool-errors.ts';

export interface ToolChoice {
  id: string;
  label: string;
}

interface CatalogueOptions {
  /** Paths, or names of bundled folders. */
  directories: readonly string[];
  /** Of tools in them that do not say what they can do. */
  defaultCapability: Capability | undefined;
  context: HostContext;
  logger: Logger;
}

interface Loaded {
  folder: ToolFolder;
  /** Agents that have it. */
  uses: number;
}

const builtIn = fileURLToPath(new URL('../tools', import.meta.url));

export class Catalogue {
  readonly #options: CatalogueOptions;
  readonly #directories: readonly ToolFolder[];
  readonly #loaded = new Map<string, Loaded>();

  constructor(options: CatalogueOptions) {
    this.#options = options;
    const { directories, logger } = options;
    // read and watched, but never run from here
    this.#directories = [...directories, builtIn].map((name) => {
      const path = bundledFolderPath(name) ?? name;
      return loadToolFolder(path, { active: [], ...this.#loadOptions(path), logger });
    });
    for (const directory of this.#directories) directory.onChange(() => this.#closeRemoved());
  }

  async load(): Promise<void> {
    try {
      await Promise.all(this.#directories.map((directory) => directory.load()));
    } catch (cause) {
      const text = `POCKET_DISCORD_TOOLS (toolDirectories): ${messageOf(cause)}`;
      throw new DiscordBotError('CONFIG_INVALID', text, { cause });
    }
  }

  /** For the log: which folders can be used, and what is wrong with the others. */
  report(): { tools: string[]; brokenTools: string[]; toolsWithoutCapability?: string[] } {
    const broken = this.#directories.flatMap(({ folders }) => folders.flatMap(({ problems }) => problems));
    const undeclared = [...this.#folders().values()].flatMap((folder) => folder.undeclared);
    return {
      tools: this.ids,
      brokenTools: broken.map(problemText),
      ...(undeclared.length > 0 ? { toolsWithoutCapability: undeclared } : {}),
    };
  }

  /** The folders of these ids as they are now. */
  states(ids: readonly string[]): FolderState[] {
    const folders = this.#folders();
    return ids.flatMap((id) => folders.get(id) ?? []);
  }

  /** As the folders are now. */
  get choices(): ToolChoice[] {
    return [...this.#folders().values()].map(({ name, humanName }) => ({ id: name, label: humanName }));
  }

  /** All of them, which are on until somebody chooses. */
  get ids(): string[] {
    return [...this.#folders().keys()];
  }

  /** Folders that are gone by now are left out. */
  sources(ids: readonly string[]): ToolSource[] {
    const folders = this.#folders();
    return ids.flatMap((id) => {
      const folder = folders.get(id);
      return folder ? this.#borrow(folder.path) : [];
    });
  }

  async close(): Promise<void> {
    const loaded = [...this.#loaded.values()].map(({ folder }) => folder);
    await Promise.all([...this.#directories, ...loaded].map((folder) => folder.close()));
  }

  /** Of folders with one name the first counts, also when it is broken: it may be there to allow less than the others. */
  #folders(): Map<string, FolderState> {
    const first = new Map<string, FolderState>();
    for (const folder of this.#directories.flatMap(({ folders }) => folders)) {
      if (!first.has(folder.name)) first.set(folder.name, folder);
    }
    const usable = [...first.values()].flatMap((folder) => this.#usable(folder) ?? []);
    return new Map(usable.map((folder) => [folder.name, folder]));
  }

  /** One that an edit broke is as it was loaded before, which goes on working. */
  #usable(folder: FolderState): FolderState | undefined {
    return folder.problems.length === 0 ? folder : this.#loaded.get(folder.path)?.folder.folders[0];
  }

  #borrow(path: string): ToolSource {
    const { context, logger } = this.#options;
    const load = () => loadToolFolder(path, { context, logger, ...this.#loadOptions(path) });
    const loaded = this.#loaded.get(path) ?? { folder: load(), uses: 0 };
    this.#loaded.set(path, loaded);
    loaded.uses++;
    const onClose = () => {
      loaded.uses--;
      this.#closeRemoved();
    };
    return borrowed(loaded.folder, { logger, onClose });
  }

  /** Folders that come along do not change, and say what they can do. */
  #loadOptions(path: string): Pick<ToolFolderOptions, 'watch' | 'defaultCapability'> {
    const isOwn =
      path !== builtIn && dirname(path) !== builtIn && !bundledFolders.some((name) => bundledFolderPath(name) === path);
    const { defaultCapability } = this.#options;
    return isOwn ? { watch: true, ...(defaultCapability ? { defaultCapability } : {}) } : { watch: false };
  }

  /** Of folders that are no more, those that no agent has. */
  #closeRemoved(): void {
    const paths = new Set(this.#directories.flatMap(({ folders }) => folders.map(({ path }) => path)));
    for (const [path, { folder, uses }] of this.#loaded) {
      if (uses > 0 || paths.has(path)) continue;
      this.#loaded.delete(path);
      folder.close().catch(() => this.#options.logger.warn('A tool folder did not close', { path }));
    }
  }
}

/** An agent closes its sources with itself; these outlive it. */
function borrowed(source: ToolFolder, { logger, onClose }: { logger: Logger; onClose: () => void }): ToolSource {
  return {
    close: async () => onClose(),
    name: source.name,
    get revision() {
      return source.revision;
    },
    refresh: (isRunStart) => source.refresh(isRunStart),
    listTools: (signal, wait) => source.listTools(signal, wait),
    async callTool(name, args, context) {
      try {
        return await source.callTool(name, args, context);
      } catch (error) {
        throw context.signal.aborted
          ? error
          : failedTool(error, { tool: name, claim: context.meta.discord_claim, logger });
      }
    },
    judge: (tool) => source.judge(tool),
  };
}
