// Lists and reads the files of one skill. Refuses everything outside its folder.
import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { isAbsolute, join, relative, sep } from 'node:path';
import type { CallToolResult } from '@modelcontextprotocol/client';
import { escapeInvisible } from '@pocket-agent/kit';
import { decodeText, fittingLines, imageTypeOf, looksSecret, readConfined } from '@pocket-agent/kit/confined-files';
import type { Skill } from 'pocket-agent';
import { isSkipped } from './find-skills.ts';
import { SKILL_FILE } from './skill.ts';

const MAX_LISTED = 100;
const MAX_VISITED = 1_000;
const MAX_DEPTH = 6;
const MAX_FILE = 5_000_000;
/** In characters of text. */
const MAX_TEXT = 200_000;

interface SkillFiles {
  /** Paths below the skill, separated by `/` and sorted. */
  paths: string[];
  /** True if there may be more. */
  isCutOff: boolean;
}

interface SkillFile {
  bytes: Uint8Array;
  /** The type of an image; undefined for text and other files. */
  imageType: string | undefined;
}

/** Lists the files beside SKILL.md, without hidden files, links, secrets and names with invisible characters. */
export async function listSkillFiles({ path: root }: Skill, max = MAX_LISTED): Promise<SkillFiles> {
  const paths: string[] = [];
  let level = [root];
  let visited = 0;
  for (let depth = 0; depth < MAX_DEPTH && level.length > 0; depth++) {
    const next: string[] = [];
    for (const directory of level) {
      for (const entry of await entriesOf(directory)) {
        if (++visited > MAX_VISITED || paths.length >= max) return { paths: paths.sort(), isCutOff: true };
        const path = join(directory, entry.name);
        const shown = relative(root, path).split(sep).join('/');
        if (escapeInvisible(shown) !== shown || looksSecret(relative(root, path))) continue;
        if (entry.isDirectory()) next.push(path);
        else if (entry.isFile() && shown !== SKILL_FILE) paths.push(shown);
      }
    }
    level = next;
  }
  return { paths: paths.sort(), isCutOff: level.length > 0 };
}

async function entriesOf(directory: string): Promise<Dirent[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  return entries.filter(({ name }) => !isSkipped(name)).sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Throws if the path leads out of the skill, also through a symbolic link, or does not name a regular file. */
export async function readSkillFile(skill: Skill, path: string, maxBytes = MAX_FILE): Promise<SkillFile> {
  if (path === '' || isAbsolute(path) || path.includes('\\') || path.split('/').includes('..')) {
    throw new Error(`${JSON.stringify(path)} must be a path below the skill, such as references/guide.md.`);
  }
  const rootName = `the skill "${skill.name}"`;
  const file = { root: skill.path, isRootReal: true, path, maxBytes, rootName };
  const bytes = await readConfined(file).catch((error: NodeJS.ErrnoException) => {
    // Node's messages contain the whole path
    throw error.code === undefined ? error : new Error(`"${path}" cannot be read (${error.code}).`);
  });
  return { bytes, imageType: imageTypeOf(bytes) };
}

export interface Lines {
  /** Counted from 1. */
  startLine?: number | undefined;
  lineCount?: number | undefined;
}

/** Returns an image, or lines of text with a note if some are left out. Throws for other files. */
export function fileResult(
  path: string,
  { bytes, imageType }: SkillFile,
  { startLine = 1, lineCount }: Lines,
): CallToolResult {
  if (imageType !== undefined) {
    return { content: [{ type: 'image', data: Buffer.from(bytes).toString('base64'), mimeType: imageType }] };
  }
  const lines = decodeText(path, bytes).split('\n');
  if (startLine > lines.length) throw new Error(`"${path}" has ${lines.length} lines, so it has no line ${startLine}.`);
  const wanted = lines.slice(startLine - 1, lineCount === undefined ? undefined : startLine - 1 + lineCount);
  const fits = fittingLines(wanted, MAX_TEXT);
  const text = fits.join('\n');
  const last = startLine + fits.length - 1;
  const notes = [
    // only a line that is longer than the limit by itself
    text.length > MAX_TEXT
      ? `\n[line ${last} has ${text.length} characters; only the first ${MAX_TEXT} are shown]`
      : '',
    last < lines.length
      ? `\n[lines ${startLine} to ${last} of ${lines.length}; continue with startLine ${last + 1}]`
      : '',
  ];
  return { content: [{ type: 'text', text: text.slice(0, MAX_TEXT) + notes.join('') }] };
}
