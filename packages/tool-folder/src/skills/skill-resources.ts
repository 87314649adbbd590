// Skills as MCP resources: skill://<name>/SKILL.md, and skill://<name>/<path> for the files beside it.
import { isUtf8 } from 'node:buffer';
import { extname } from 'node:path';
import type { ReadResourceResult } from '@modelcontextprotocol/client';
import { errorText, PocketError } from '@pocket-agent/kit';
import type { JudgedTool, Skill, SkillEntry, SourceResource, SourceResources } from 'pocket-agent';
import { SKILL_FILE } from './skill.ts';
import { listSkillFiles, readSkillFile } from './skill-files.ts';

const SCHEME = 'skill://';
const MARKDOWN = 'text/markdown';
const types: Readonly<Record<string, string>> = { '.md': MARKDOWN, '.json': 'application/json', '.html': 'text/html' };
/** Clients accept skills up to this size. */
const MAX_BYTES = 16 * 1024 * 1024;

const template = {
  uriTemplate: `${SCHEME}{skill}/{+path}`,
  name: 'skill-file',
  description: `A file of a skill: ${SKILL_FILE} has the instructions, which name the other files`,
};

interface SkillList {
  /** The current skills. */
  list(): Promise<readonly Skill[]>;
  judged(skill: Skill): JudgedTool;
}

/** Lists SKILL.md of each skill, and finds other files by their URI. */
export function skillResources({ list, judged }: SkillList): SourceResources {
  const found = (skill: Skill, path: string): SourceResource => {
    const uri = uriOf(skill, path);
    const isMain = path === SKILL_FILE;
    return {
      resource: {
        uri,
        name: isMain ? skill.name : path,
        ...(isMain ? { description: skill.description, mimeType: MARKDOWN } : {}),
      },
      judged: judged(skill),
      read: () => read(skill, path, uri),
      ...(isMain ? { skill: () => entryOf(skill) } : {}),
    };
  };
  return {
    list: async () => (await list()).map((skill) => found(skill, SKILL_FILE)),
    templates: async () => [template],
    async find(uri) {
      const { name, path } = parse(uri) ?? {};
      const skill = name === undefined ? undefined : (await list()).find((each) => each.name === name);
      return skill && path ? found(skill, path) : undefined;
    },
  };
}

async function read(skill: Skill, path: string, uri: string): Promise<ReadResourceResult> {
  try {
    const { bytes, imageType } = await readSkillFile(skill, path, MAX_BYTES);
    if (imageType === undefined && isUtf8(bytes) && !bytes.includes(0)) {
      const mimeType = types[extname(path).toLowerCase()] ?? 'text/plain';
      // keeps the byte order mark, because clients compare the text with a digest
      const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
      return { contents: [{ uri, mimeType, text }] };
    }
    const mimeType = imageType ?? 'application/octet-stream';
    return { contents: [{ uri, mimeType, blob: Buffer.from(bytes).toString('base64') }] };
  } catch (error) {
    throw new PocketError('TOOL_ARGUMENTS_INVALID', errorText(error), { cause: error });
  }
}

/**
 * Undefined if some clients would refuse the skill, and with it the whole list: it was broken or renamed, has too many files,
 * or its front matter exceeds the limits of the specification.
 */
async function entryOf(skill: Skill): Promise<SkillEntry | undefined> {
  const { SKILL_LIMITS, skillEntry } = await import('@modelcontextprotocol/server/ext/skills');
  const { paths, isCutOff } = await listSkillFiles(skill, SKILL_LIMITS.files - 1);
  if (isCutOff) return undefined;
  const files: Record<string, Uint8Array> = {};
  let left = SKILL_LIMITS.bytes;
  try {
    for (const path of [SKILL_FILE, ...paths]) {
      const { bytes } = await readSkillFile(skill, path, left);
      files[path] = bytes;
      left -= bytes.byteLength;
    }
    return (await skillEntry(skill.name, files)) as SkillEntry;
  } catch {
    return undefined;
  }
}

function uriOf({ name }: Skill, path: string): string {
  return `${SCHEME}${[name, ...path.split('/')].map(encodeURIComponent).join('/')}`;
}

/** Does not use `URL`, which would resolve ".." and change the case of letters. */
function parse(uri: string): { name: string; path: string } | undefined {
  if (!uri.startsWith(SCHEME)) return undefined;
  try {
    const [name = '', ...path] = uri.slice(SCHEME.length).split('/').map(decodeURIComponent);
    // an encoded slash must not add a segment
    return path.some((segment) => segment.includes('/')) ? undefined : { name, path: path.join('/') };
  } catch {
    return undefined;
  }
}
