// Reads and checks the SKILL.md of one folder.
import { realpath } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { errorText, isRecord } from '@pocket-agent/kit';
import { decodeText, readConfined } from '@pocket-agent/kit/confined-files';
import type { Skill } from 'pocket-agent';
import { describeValue, type ManifestProblem } from '../manifest/problem.ts';
import { YamlFile } from '../manifest/yaml-file.ts';
import { SKILL_FILE, setNamePosition } from './skill.ts';
import { type FrontMatter, skillSchema } from './skill-schema.ts';

/** In bytes. About the size limit of a tool result. */
const MAX_SKILL = 250_000;
/** In characters. Limits the time that hostile YAML takes to parse. */
const MAX_FRONT_MATTER = 20_000;

export interface ParsedSkill {
  /** Undefined if there are problems. */
  skill: Skill | undefined;
  /** The Markdown after the front matter. */
  body: string;
  problems: ManifestProblem[];
  /** Unknown keys, which other programs may use. */
  warnings: ManifestProblem[];
}

interface ReadOptions {
  /** True: the name may differ from that of the folder, as in a tool folder. */
  allowsAnyName?: boolean;
  /** True: `folder` is known to be a real path. If it has become a symbolic link, it is not read. */
  isRealPath?: boolean;
  /** Whether to show the path to the model. */
  showsPath?: boolean;
}

/** Does not throw: errors become problems of the skill. */
export async function readSkill(folder: string, options: ReadOptions = {}): Promise<ParsedSkill> {
  const { allowsAnyName = false, isRealPath = false, showsPath = false } = options;
  const file = join(folder, SKILL_FILE);
  const failed = (found: string, expected: string): ParsedSkill => {
    const problems = [{ file, line: 1, column: 1, found, expected }];
    return { skill: undefined, body: '', problems, warnings: [] };
  };
  try {
    const path = isRealPath ? folder : await realpath(folder);
    const read = { root: path, isRootReal: true, path: SKILL_FILE, maxBytes: MAX_SKILL, rootName: 'the skill' };
    const split = splitFrontMatter(decodeText(SKILL_FILE, await readConfined(read)));
    if (split === 'missing')
      return failed('no front matter', 'a first line "---", then name and description, then a line "---"');
    if (split === 'unclosed') return failed('front matter without an end', 'a line "---" after name and description');
    const { yaml, body } = split;
    if (yaml.length > MAX_FRONT_MATTER)
      return failed(`front matter of ${yaml.length} characters`, `at most ${MAX_FRONT_MATTER}`);
    // the empty line replaces the first "---", so that line numbers match the file
    const source = new YamlFile({ file, text: `\n${yaml}`, schema: skillSchema, kind: 'front matter' });
    const names = allowsAnyName ? undefined : [basename(folder), basename(path)];
    return { ...checked({ source, path, names, showsPath }), body };
  } catch (error) {
    return failed(`an error: ${errorText(error)}`, 'a text file of at most 250 kB in the folder');
  }
}

interface CheckOptions {
  source: YamlFile<FrontMatter>;
  path: string;
  showsPath: boolean;
  /** The allowed names; undefined if any name is allowed. */
  names: readonly string[] | undefined;
}

function checked({ source, path, names, showsPath }: CheckOptions): Omit<ParsedSkill, 'body'> {
  const { value, problems } = source;
  if (value && names && !names.some((name) => name.normalize('NFKC') === value.name)) {
    const [folder = ''] = names;
    source.report(['name'], {
      found: describeValue(value.name),
      expected: `the name of its folder, ${describeValue(folder)}`,
    });
  }
  if (value && containsItself(source.raw))
    source.report([], { found: 'a value that contains itself', expected: 'front matter without such aliases' });
  const known = skillSchema.keysAt([]);
  const others = Object.keys(isRecord(source.raw) ? source.raw : {}).filter((key) => !known.includes(key));
  const warnings = source.unknownKeys([], others);
  if (!value || problems.length > 0) return { skill: undefined, problems, warnings };
  const { name, description, metadata } = value;
  const { capability = 'read' } = metadata ?? {};
  const frontMatter = source.raw as Record<string, unknown>;
  const skill: Skill = Object.freeze({ name, description, path, showsPath, capability, frontMatter });
  setNamePosition(skill, source.position(['name']));
  return { skill, problems, warnings };
}

function containsItself(value: unknown): boolean {
  try {
    JSON.stringify(value);
    return false;
  } catch {
    return true;
  }
}

/** The lines between the first "---" and the next, and the text after them. */
function splitFrontMatter(text: string): { yaml: string; body: string } | 'missing' | 'unclosed' {
  const [opening] = /^\uFEFF?---[ \t]*\r?\n/.exec(text) ?? [];
  if (opening === undefined) return 'missing';
  const rest = text.slice(opening.length);
  const end = /^---[ \t]*\r?$/m.exec(rest);
  if (!end) return 'unclosed';
  return { yaml: rest.slice(0, end.index), body: rest.slice(end.index + end[0].length).trim() };
}
