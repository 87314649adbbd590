// Finds MCP server files of other programs and offers to use them. A file is not parsed before the user agrees.
import type { Stats } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { parseJsonFile, printable } from '@pocket-agent/kit';
import { readServers } from 'pocket-agent/internal';
import type { AgentRequest } from './agent-request.ts';
import { askOnce } from './remembered-answers.ts';
import { readServerFiles } from './servers.ts';

export interface FoundConfig {
  program: string;
  file: string;
  /** The answer covers this content only: if the file changes, the user is asked again. */
  content: string;
}

const MAX_BYTES = 1_000_000;

/** Where the programs keep their server files, on this system and in this folder. */
export function configPlaces(
  env: NodeJS.ProcessEnv = process.env,
  platform: NodeJS.Platform = process.platform,
): { program: string; file: string }[] {
  const home = homedir();
  const applications =
    platform === 'darwin'
      ? join(home, 'Library', 'Application Support')
      : platform === 'win32'
        ? (env.APPDATA ?? join(home, 'AppData', 'Roaming'))
        : (env.XDG_CONFIG_HOME ?? join(home, '.config'));
  return [
    { program: 'Claude Desktop', file: join(applications, 'Claude', 'claude_desktop_config.json') },
    { program: 'Cursor', file: join(home, '.cursor', 'mcp.json') },
    { program: 'VS Code', file: join(applications, 'Code', 'User', 'mcp.json') },
    { program: 'Cursor, in this folder', file: join('.cursor', 'mcp.json') },
    { program: 'VS Code, in this folder', file: join('.vscode', 'mcp.json') },
    { program: 'this folder', file: '.mcp.json' },
  ];
}

export async function findConfigs(): Promise<FoundConfig[]> {
  const found = await Promise.all(
    configPlaces().map(async ({ program, file }) => {
      // reading a pipe could block, and a large file is not a list of servers
      const { size } = await stat(file).then(sizeOfFile, () => ({ size: 0 }));
      const content = size > 0 && size <= MAX_BYTES ? await readFile(file, 'utf8').catch(() => '') : '';
      return content === '' ? [] : [{ program, file, content }];
    }),
  );
  return found.flat();
}

function sizeOfFile(stats: Stats): { size: number } {
  return stats.isFile() ? stats : { size: 0 };
}

export interface OfferOptions {
  /** Undefined if there was no answer; then nothing is remembered. */
  ask(question: string): Promise<boolean | undefined>;
  tell(line: string): void;
}

/** Asks once about each file, and only if no other source of tools was given. */
export async function offerFoundConfigs(request: AgentRequest, { ask, tell }: OfferOptions): Promise<AgentRequest> {
  if (!request.isBuiltIn) return request;
  const accepted: Record<string, ReturnType<typeof readServers>> = {};
  for (const { program, file, content } of await findConfigs()) {
    const question = `${printable(file)} (${program}) lists MCP servers. Start and use them?`;
    const { answer, isNew } = await askOnce({ file, content, ask: () => ask(question) });
    if (answer === false && isNew)
      tell(`Not used; you are asked again if the file changes. To use it: --mcp ${printable(file)}`);
    if (answer) accepted[file] = readServers(file, parseJsonFile(file, content));
  }
  const files = Object.keys(accepted);
  if (files.length === 0) return request;
  tell(`servers from ${printable(files.join(', '))}`);
  return { ...request, isBuiltIn: false, servers: await readServerFiles([], accepted) };
}
