// The tool folders that this package includes.
import { fileURLToPath } from 'node:url';

/** The names of the included tool folders. */
export const bundledFolders = ['web', 'github', 'notes'] as const;

/** The path of an included folder; undefined for other names. */
export function bundledFolderPath(name: string): string | undefined {
  const found = bundledFolders.find((bundled) => bundled === name);
  return found && fileURLToPath(new URL(`./folders/${found}`, import.meta.url));
}
