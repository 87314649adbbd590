// The tool folders that users can choose. Folders may change while the bot runs; each is loaded at its first use.
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { errorText } from '@pocket-agent/kit';
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
import { type Capability, judge, type Logger, type SkillSource, type ToolSource } from 'pocket-agent';
import { DiscordBotError } from '../base/errors.ts';
import { toolError } from './tool-errors.ts';

export interface ToolChoice {
  id: string;
  label: string;
}

interface CatalogueOptions {
  /** Paths, or names of bundled folders. */
  directories: readonly string[];
  /** Capability of tools in them that declare none. */
  defaultCapability: Capability | undefined;
  context: HostContext;
  logger: Logger;
}

interface LoadedFolder {
  folder: ToolFolder;
  /** Number of agents that use it. */
  uses: number;
}

const builtInDirectory = fileURLToPath(new URL('../tools', import.meta.url));

export class Catalogue {
  readonly #options: CatalogueOptions;
  readonly #directories: readonly ToolFolder[];
  readonly #loaded = new Map<string, LoadedFolder>();

  constructor(options: CatalogueOptions) {
    this.#options = options;
    const { directories, logger } = options;
    // only reads and watches manifests; no tool runs from here
    this.#directories = [...directories, builtInDirectory].map((name) => {
      const path = bundledFolderPath(name) ?? name;
      return loadToolFolder(path, { active: [], ...this.#loadOptions(path), logger });
    });
    for (const directory of this.#directories) directory.onChange(() => this.#closeRemoved());
  }

  async load(): Promise<void> {
    try {
      await Promise.all(this.#directories.map((directory) => directory.load()));
    } catch (cause) {
      const text = `POCKET_DISCORD_TOOLS (toolDirectories): ${errorText(cause)}`;
      throw new DiscordBotError('CONFIG_INVALID', text, { cause });
    }
  }

  /** For the log: usable folders, and the problems of the others. */
  report(): { tools: string[]; brokenTools: string[]; toolsWithoutCapability?: string[] } {
    const broken = this.#directories.flatMap(({ folders }) => folders.flatMap(({ problems }) => problems));
    const undeclared = [...this.#folders().values()].flatMap((folder) => folder.undeclared);
    return {
      tools: this.ids,
      brokenTools: broken.map(problemText),
      ...(undeclared.length > 0 ? { toolsWithoutCapability: undeclared } : {}),
    };
  }

  /** The current state of these folders. */
  states(ids: readonly string[]): FolderState[] {
    const folders = this.#folders();
    return ids.flatMap((id) => folders.get(id) ?? []);
  }

  /** All usable folders. */
  get choices(): ToolChoice[] {
    return [...this.#folders().values()].map(({ name, humanName }) => ({ id: name, label: humanName }));
  }

  /** Ids of all usable folders, which are enabled until a user chooses. */
  get ids(): string[] {
    return [...this.#folders().keys()];
  }

  /** Tool sources of these folders; removed folders are skipped. */
  sources(ids: readonly string[]): ToolSource[] {
    const folders = this.#folders();
    return ids.flatMap((id) => {
      const folder = folders.get(id);
      return folder ? this.#share(folder.path) : [];
    });
  }

  async close(): Promise<void> {
    const loaded = [...this.#loaded.values()].map(({ folder }) => folder);
    await Promise.all([...this.#directories, ...loaded].map((folder) => folder.close()));
  }

  /**
   * The first of several folders with the same name counts, even if it is broken: it may be meant to restrict the others.
   */
  #folders(): Map<string, FolderState> {
    const first = new Map<string, FolderState>();
    for (const folder of this.#directories.flatMap(({ folders }) => folders)) {
      if (!first.has(folder.name)) first.set(folder.name, folder);
    }
    const usable = [...first.values()].flatMap((folder) => this.#usable(folder) ?? []);
    return new Map(usable.map((folder) => [folder.name, folder]));
  }

  /** A folder that an edit broke keeps working as it was loaded before. */
  #usable(folder: FolderState): FolderState | undefined {
    return folder.problems.length === 0 ? folder : this.#loaded.get(folder.path)?.folder.folders[0];
  }

  #share(path: string): ToolSource {
    const { context, logger } = this.#options;
    const load = () => loadToolFolder(path, { context, logger, ...this.#loadOptions(path) });
    const loaded = this.#loaded.get(path) ?? { folder: load(), uses: 0 };
    this.#loaded.set(path, loaded);
    loaded.uses++;
    const onClose = () => {
      loaded.uses--;
      this.#closeRemoved();
    };
    return sharedSource(loaded.folder, { logger, onClose });
  }

  /** Included folders do not change and declare their capabilities. */
  #loadOptions(path: string): Pick<ToolFolderOptions, 'watch' | 'defaultCapability'> {
    const isCustom =
      path !== builtInDirectory &&
      dirname(path) !== builtInDirectory &&
      !bundledFolders.some((name) => bundledFolderPath(name) === path);
    const { defaultCapability } = this.#options;
    return isCustom ? { watch: true, ...(defaultCapability ? { defaultCapability } : {}) } : { watch: false };
  }

  /** Closes removed folders that no agent uses. */
  #closeRemoved(): void {
    const paths = new Set(this.#directories.flatMap(({ folders }) => folders.map(({ path }) => path)));
    for (const [path, { folder, uses }] of this.#loaded) {
      if (uses > 0 || paths.has(path)) continue;
      this.#loaded.delete(path);
      folder.close().catch(() => this.#options.logger.warn('Closing a tool folder failed', { path }));
    }
  }
}

/** A source whose `close` keeps the folder loaded: agents close their sources, but folders are shared. */
function sharedSource(folder: ToolFolder, { logger, onClose }: { logger: Logger; onClose: () => void }): ToolSource {
  const { otherTools, join } = folder.skillSource;
  const skillSource: SkillSource = {
    get revision() {
      return folder.skillSource.revision;
    },
    list: () => folder.skillSource.list(),
    otherTools: otherTools && withOwnErrors(otherTools, logger),
    join,
  };
  return Object.assign(withOwnErrors(folder, logger), {
    close: async () => onClose(),
    choices: (tool: Parameters<ToolFolder['choices']>[0]) => folder.choices(tool),
    returnsInstructions: (tool: Parameters<ToolFolder['choices']>[0]) => folder.returnsInstructions(tool),
    skillSource,
  });
}

function withOwnErrors(source: ToolSource, logger: Logger): ToolSource {
  return {
    name: source.name,
    get revision() {
      return source.revision;
    },
    refresh: (isRunStart) => source.refresh?.(isRunStart),
    listTools: (signal, wait) => source.listTools(signal, wait),
    async callTool(name, args, context) {
      try {
        return await source.callTool(name, args, context);
      } catch (error) {
        throw context.signal.aborted
          ? error
          : toolError(error, { tool: name, claim: context.meta.discord_claim, logger });
      }
    },
    judge: (tool) => source.judge?.(tool) ?? judge(tool),
  };
}
