// The tool folders that come with this package.
import { fileURLToPath } from 'node:url';

export const bundledFolders = ['web', 'github', 'notes'] as const;

/** Where one of them is; undefined for another name. */
export function bundledFolderPath(name: string): string | undefined {
  const found = bundledFolders.find((bundled) => bundled === name);
  return found && fileURLToPath(new URL(`./folders/${found}`, import.meta.url));
}
