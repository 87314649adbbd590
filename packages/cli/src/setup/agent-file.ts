// Reads an agent file, and finds its tool folders.
import { bundledFolderPath } from '@pocket-agent/tool-folder';
import { type AgentFile, inFile, readAgentFile as readFile } from 'pocket-agent/internal';
import { toolFolderPath } from './tool-sources.ts';

/** With tool folders that exist: included ones by name, others by path. */
export type FoundAgentFile = Omit<AgentFile, 'tools'> & { tools: readonly string[] };

export async function readAgentFile(file: string): Promise<FoundAgentFile> {
  const { tools, ...content } = await readFile(file);
  return { ...content, tools: inFile(file, () => tools.map(({ name, path }) => folderOf(name, path))) };
}

export function folderOf(name: string, path: string): string {
  return bundledFolderPath(name) ? name : toolFolderPath(path);
}
