// The MCP servers of a command: from server files, or the built-in one.
import { fileURLToPath } from 'node:url';
import { compileCacheEnv, PocketError, readJsonFile } from '@pocket-agent/kit';
import type { McpServerEntry } from 'pocket-agent';
import { readServers } from 'pocket-agent/internal';

type Servers = ReadonlyMap<string, McpServerEntry>;

/**
 * The servers of all files, joined with `others` (by file). Files in the current folder are never used without being
 * named: they list programs to start, and the folder may be untrusted.
 */
export async function readServerFiles(
  files: readonly string[],
  others: Record<string, Servers> = {},
): Promise<Servers> {
  const all = new Map<string, McpServerEntry>();
  const origins = new Map<string, string>();
  const add = (file: string, servers: Servers) => {
    for (const [name, entry] of servers) {
      const other = origins.get(name);
      if (other !== undefined) {
        throw new PocketError('CONFIG_INVALID', `${other} and ${file} both have a server "${name}": rename one.`);
      }
      origins.set(name, file);
      all.set(name, entry);
    }
  };
  for (const [file, servers] of Object.entries(others)) add(file, servers);
  for (const file of files) add(file, readServers(file, await readJsonFile(file, 'give a file with "mcpServers"')));
  return all;
}

export function builtinServer(): McpServerEntry {
  const isSource = import.meta.url.endsWith('.ts');
  const main = fileURLToPath(new URL(`../builtin-server/main.${isSource ? 'ts' : 'js'}`, import.meta.url));
  const args = isSource ? ['-C', 'pocket-agent/source', main] : [main];
  return { command: process.execPath, args, env: compileCacheEnv() };
}
