// Finds skill folders: directories with a SKILL.md.
import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { errorText, PocketError } from '@pocket-agent/kit';
import { SKILL_FILE } from './skill.ts';

const MAX_DEPTH = 4;
/** Protects against searching a whole disk by mistake. */
const MAX_DIRECTORIES = 2_000;
export const MAX_SKILLS = 1_000;

interface FoundSkills {
  /** Sorted. */
  folders: string[];
  /** True if there may be more than were found. */
  isCutOff: boolean;
}

/** Returns `root` itself if it has a SKILL.md, otherwise the folders below it that have one. Does not search inside skills. */
export async function findSkills(root: string): Promise<FoundSkills> {
  if (await hasSkillFile(root)) return { folders: [root], isCutOff: false };
  const folders: string[] = [];
  let level = [root];
  let visited = 0;
  for (let depth = 0; depth < MAX_DEPTH && level.length > 0; depth++) {
    const next: string[] = [];
    for (const directory of level) {
      if (++visited > MAX_DIRECTORIES) return { folders: folders.sort(), isCutOff: true };
      for (const entry of await entriesOf(directory, directory === root)) {
        const path = join(directory, entry.name);
        if (await hasSkillFile(path)) folders.push(path);
        // links to a skill are followed; links to other folders are not searched
        else if (entry.isDirectory()) next.push(path);
        if (folders.length > MAX_SKILLS) return { folders: folders.sort().slice(0, MAX_SKILLS), isCutOff: true };
      }
    }
    level = next;
  }
  return { folders: folders.sort(), isCutOff: false };
}

/** Does not open the file, which may be a pipe. */
async function hasSkillFile(folder: string): Promise<boolean> {
  try {
    return (await stat(join(folder, SKILL_FILE))).isFile();
  } catch {
    return false;
  }
}

async function entriesOf(directory: string, isRoot: boolean): Promise<Dirent[]> {
  try {
    const entries = await readdir(directory, { withFileTypes: true });
    return entries.filter((entry) => (entry.isDirectory() || entry.isSymbolicLink()) && !isSkipped(entry.name));
  } catch (error) {
    if (!isRoot) return [];
    const text = `Cannot read the skill folder ${directory}: ${errorText(error)}`;
    throw new PocketError('CONFIG_INVALID', text, { cause: error });
  }
}

/** Hidden folders, caches and installed packages. */
export function isSkipped(name: string): boolean {
  return name.startsWith('.') || name.startsWith('__') || name === 'node_modules';
}
