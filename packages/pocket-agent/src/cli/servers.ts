// Which MCP servers a command connects: those of a file that was named, or the built-in one.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { errorText, PocketError } from '../errors.ts';
import type { McpConfig } from '../mcp-config.ts';

export interface ChosenServers {
  mcpConfig: McpConfig;
  from: string;
}

/** A file that lies in the folder is not taken by itself: it names programs to start, and the folder may be a stranger's. */
export async function chooseServers(asked: string | undefined): Promise<ChosenServers> {
  if (asked !== undefined) return { mcpConfig: await readConfig(asked), from: asked };
  const builtin = { command: process.execPath, args: [builtinServer()] };
  return { mcpConfig: { mcpServers: { builtin } }, from: 'built in' };
}

async function readConfig(file: string): Promise<McpConfig> {
  let content: string;
  try {
    content = await readFile(file, 'utf8');
  } catch (error) {
    throw new PocketError('CONFIG_INVALID', `Cannot read ${file}: ${errorText(error)}`, { cause: error });
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(content);
  } catch (error) {
    throw new PocketError('CONFIG_INVALID', `${file} is not JSON: ${errorText(error)}`, { cause: error });
  }
  // the client checks what is in it
  if (typeof parsed === 'object' && parsed !== null && ('mcpServers' in parsed || 'servers' in parsed))
    return parsed as McpConfig;
  throw new PocketError('CONFIG_INVALID', `${file} must hold an object "mcpServers".`);
}

/** The server is a .ts file in the repository and a .js file in the published package, like this one. */
function builtinServer(): string {
  const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'));
  return fileURLToPath(new URL(`../builtin-server/main${extension}`, import.meta.url));
}
