// Which MCP servers a command connects: those of files that were named, or the built-in one.
import { fileURLToPath } from 'node:url';
import { compileCacheEnv, errorText, PocketError } from '@pocket-agent/kit';
import type { McpServerEntry } from 'pocket-agent';
import { readMcpConfig } from 'pocket-agent/internal';
import { isObject, readJsonFile } from '../files/json-file.ts';

type Servers = ReadonlyMap<string, McpServerEntry>;

/**
 * The servers of all files, and of `others` by the file they are from. A file that lies in the folder is not taken by
 * itself: it names programs to start, and the folder may be a stranger's.
 */
export async function readServerFiles(
  files: readonly string[],
  others: Record<string, Servers> = {},
): Promise<Servers> {
  const all = new Map<string, McpServerEntry>();
  const from = new Map<string, string>();
  const add = (file: string, servers: Servers) => {
    for (const [name, entry] of servers) {
      const other = from.get(name);
      if (other !== undefined) {
        throw new PocketError(
          'CONFIG_INVALID',
          `There is a server "${name}" in ${other} and in ${file}: rename one of them.`,
        );
      }
      from.set(name, file);
      all.set(name, entry);
    }
  };
  for (const [file, servers] of Object.entries(others)) add(file, servers);
  for (const file of files) add(file, readServers(file, await readJsonFile(file, 'name one that holds "mcpServers"')));
  return all;
}

/** The servers in what a file holds, checked. */
export function readServers(file: string, content: unknown): Servers {
  if (!isObject(content) || !('mcpServers' in content || 'servers' in content)) {
    throw new PocketError('CONFIG_INVALID', `${file} must hold an object "mcpServers".`);
  }
  try {
    return readMcpConfig(content);
  } catch (error) {
    throw new PocketError('CONFIG_INVALID', `${file}: ${errorText(error)}`, { cause: error });
  }
}

export function builtinServer(): McpServerEntry {
  // a .ts file in the repository and a .js file in the published package, like this one
  const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'));
  const main = fileURLToPath(new URL(`../builtin-server/main${extension}`, import.meta.url));
  return { command: process.execPath, args: [main], env: compileCacheEnv() };
}
