// The tool folders of a command: those that come with the package by name, others by path.
import { existsSync } from 'node:fs';
import { abortable, PocketError } from '@pocket-agent/kit';
import { bundledFolderPath, bundledFolders, type ToolFolder, type ToolFolderOptions } from '@pocket-agent/tool-folder';

/** `web` is the folder that comes with the package; `./web` one of your own. */
export function toolFolderPath(name: string): string {
  const path = bundledFolderPath(name) ?? name;
  if (existsSync(path)) return path;
  throw new PocketError(
    'CONFIG_INVALID',
    `There is no tool folder ${name}: name a folder, or one of ${bundledFolders.join(', ')}.`,
  );
}

export interface LoadedFolders {
  folders: ToolFolder[];
  /** What is wrong with folders that could not be loaded, one line each. */
  problems: string[];
  /** Of tools that do not say what they can do, one line for each folder. */
  warnings: string[];
}

export interface LoadOptions extends ToolFolderOptions {
  signal: AbortSignal;
}

/** A folder that is broken never hides the others; only when there is none at all is that an error. */
export async function loadFolders(
  names: readonly string[],
  { signal, ...options }: LoadOptions,
): Promise<LoadedFolders> {
  if (names.length === 0) return { folders: [], problems: [], warnings: [] };
  const { loadToolFolder, problemText, undeclaredText } = await import('@pocket-agent/tool-folder');
  const folders = names.map((name) => loadToolFolder(toolFolderPath(name), options));
  try {
    const problems: string[] = [];
    const warnings: string[] = [];
    for (const [index, folder] of folders.entries()) {
      const states = await abortable(folder.load(), signal);
      if (states.length === 0) {
        throw new PocketError(
          'CONFIG_INVALID',
          `${names[index]} holds no tool folder: pocket-agent new-tool NAME --dir ${names[index]} writes one.`,
        );
      }
      problems.push(...states.flatMap((state) => state.problems.map(problemText)));
      warnings.push(...states.flatMap((state) => undeclaredText(state, '--default-capability') ?? []));
    }
    return { folders, problems, warnings };
  } catch (error) {
    // one that is being imported just now cannot be stopped, and is not waited for
    if (!signal.aborted) await closeFolders(folders);
    throw error;
  }
}

export async function closeFolders(folders: readonly ToolFolder[]): Promise<void> {
  await Promise.all(folders.map((folder) => folder.close()));
}
