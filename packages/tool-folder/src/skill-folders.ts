// The skills of some folders as one ToolSource: what `skills(['./skills'])` returns.
import { resolve } from 'node:path';
import type { CallToolResult, Tool } from '@modelcontextprotocol/client';
import { errorText, type Logger, PocketError, stderrLogger } from '@pocket-agent/kit';
import type { Skill, SkillSource, ToolSource } from 'pocket-agent';
import { type ManifestProblem, problemText } from './manifest/problem.ts';
import { directoriesToWatch } from './reading/find-folders.ts';
import { FolderWatcher } from './reading/watcher.ts';
import { findSkills, MAX_SKILLS } from './skills/find-skills.ts';
import { JoinedSkills } from './skills/joined-skills.ts';
import type { ParsedSkill } from './skills/read-skill.ts';
import { skillResources } from './skills/skill-resources.ts';
import { SkillToolSource } from './skills/skill-tool-source.ts';
import { withoutDuplicates } from './skills/skill-tools.ts';

/** What happens to skills that are broken or edited. */
export interface SkillsOptions {
  /** True: listing throws if a skill has a problem. Default false: problems are logged and the other skills work. */
  strict?: boolean;
  /** True: notice skills that are edited, added or removed. Default false. */
  watch?: boolean;
  logger?: Logger;
}

/** How many SKILL.md files are read at the same time. */
const PARALLEL = 20;

/** Each path is a skill or a folder of skills. They are read when tools are first listed, or by `load()`. */
export function skills(paths: string | readonly string[], options: SkillsOptions = {}): SkillFolders {
  return new SkillFolders(typeof paths === 'string' ? [paths] : paths, options);
}

export class SkillFolders extends SkillToolSource implements ToolSource {
  readonly paths: readonly string[];
  readonly #logger: Logger;
  readonly #isStrict: boolean;
  readonly resources = skillResources({
    list: () => this.load(),
    judged: (skill) => this.skillTools.judged(skill),
  });
  readonly skillSource: SkillSource;
  readonly #watcher: FolderWatcher | undefined;
  readonly #listeners = new Set<() => void>();
  /** By the folder of the skill. */
  #byFolder: ReadonlyMap<string, Skill> = new Map();
  #problems: readonly ManifestProblem[] = [];
  #warnings: readonly ManifestProblem[] = [];
  #emptyPaths: readonly string[] = [];
  /** The warnings of the last reading. */
  #logged: readonly string[] = [];
  #loading: Promise<void> | undefined;
  #lastReading: Promise<void> = Promise.resolve();
  #revision = 0;

  constructor(paths: readonly string[], { strict = false, watch = false, logger = stderrLogger() }: SkillsOptions) {
    super(logger);
    this.paths = paths.map((path) => resolve(path));
    this.#isStrict = strict;
    this.#logger = logger;
    if (watch) this.#watcher = new FolderWatcher(logger, () => this.#readAgain());
    const revision = () => this.#revision;
    this.skillSource = {
      get revision() {
        return revision();
      },
      list: () => this.#checkedSkills(),
      join: (parts) => new JoinedSkills(parts, logger),
    };
  }

  /** The skills that work; empty before the first `load()`. */
  get skills(): readonly Skill[] {
    return this.skillTools.skills;
  }

  /** The problems of skills that are not offered. */
  get problems(): readonly ManifestProblem[] {
    return this.#problems;
  }

  /** Unknown keys in front matter. Their skills are offered. */
  get warnings(): readonly ManifestProblem[] {
    return this.#warnings;
  }

  /** The paths that contain no skill. */
  get emptyPaths(): readonly string[] {
    return this.#emptyPaths;
  }

  /** Increases when the front matter of a skill changes, or a skill is added or removed. */
  get revision(): number {
    return this.#revision;
  }

  /** Reads all skills once; with `watch`, edited skills are read again. */
  async load(): Promise<readonly Skill[]> {
    this.#loading ??= this.#read();
    try {
      await this.#loading;
    } catch (error) {
      this.#loading = undefined;
      throw error;
    }
    return this.skills;
  }

  async listTools(): Promise<readonly Tool[]> {
    return this.skillTools.setSkills(await this.#checkedSkills());
  }

  async callTool(name: string, args: Record<string, unknown>): Promise<CallToolResult> {
    const tools = await this.listTools();
    if (!tools.some((tool) => tool.name === name))
      throw new PocketError(
        'TOOL_UNKNOWN',
        `There is no tool "${name}" for skills. Available: ${tools.map((tool) => tool.name).join(', ') || 'none'}.`,
      );
    return this.skillTools.call(name, args);
  }

  /** Calls `listener` when the list of skills has changed. Returns a function to unsubscribe. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Stops watching. */
  async close(): Promise<void> {
    this.#listeners.clear();
    this.#watcher?.close();
    await this.#lastReading;
  }

  async #checkedSkills(): Promise<readonly Skill[]> {
    const loaded = await this.load();
    if (!this.#isStrict || this.#problems.length === 0) return loaded;
    const text = this.#problems.map(problemText).join('\n');
    throw new PocketError('CONFIG_INVALID', text, { details: { problems: this.#problems } });
  }

  #readAgain(): void {
    const { revision } = this;
    this.#lastReading = this.#lastReading
      .then(() => this.#read())
      .then(() => {
        if (this.#revision !== revision) for (const listener of this.#listeners) listener();
      })
      .catch((error) => this.#logger.warn(`Cannot read ${this.paths.join(', ')} again: ${errorText(error)}`));
  }

  async #read(): Promise<void> {
    // watch before reading, so that no change is missed
    this.#watcher?.watch((await Promise.all(this.paths.map(directoriesToWatch))).flat());
    const found = await Promise.all(this.paths.map(findSkills));
    this.#emptyPaths = this.paths.filter((_path, index) => found[index]?.folders.length === 0);
    // two paths may contain the same folder
    const folders = [...new Set(found.flatMap(({ folders }) => folders))];
    const reads = await readAll(folders);
    const before = this.#byFolder;
    this.#byFolder = new Map(
      reads.flatMap(([folder, { skill }]) => entryFor(folder, newestValid(skill, before.get(folder)))),
    );
    const { byName, problems } = withoutDuplicates([...this.#byFolder.values()]);
    this.#problems = [...reads.flatMap(([, read]) => read.problems), ...problems];
    this.#warnings = reads.flatMap(([, read]) => read.warnings);
    this.#logNew([
      ...this.paths.flatMap((path, index) => (found[index]?.isCutOff ? cutOffText(path) : [])),
      ...this.#emptyPaths.map((path) => `There are no skills in ${path}: a skill is a folder with a SKILL.md.`),
      ...[...this.#problems, ...this.#warnings].map(problemText),
    ]);
    const { tools } = this.skillTools;
    if (this.skillTools.setSkills([...byName.values()]) !== tools) this.#revision++;
  }

  /** Logs the warnings that the last reading did not have. */
  #logNew(lines: readonly string[]): void {
    for (const line of lines) if (!this.#logged.includes(line)) this.#logger.warn(line);
    this.#logged = lines;
  }
}

async function readAll(folders: readonly string[]): Promise<[string, ParsedSkill][]> {
  // imported late, because it loads zod and a YAML parser
  const { readSkill } = await import('./skills/read-skill.ts');
  const read = async (folder: string): Promise<[string, ParsedSkill]> => [
    folder,
    await readSkill(folder, { showsPath: true }),
  ];
  const reads: [string, ParsedSkill][] = [];
  for (let start = 0; start < folders.length; start += PARALLEL)
    reads.push(...(await Promise.all(folders.slice(start, start + PARALLEL).map(read))));
  return reads;
}

/** Keeps the old object if the front matter is the same, or if an edit broke the skill. */
function newestValid(skill: Skill | undefined, before: Skill | undefined): Skill | undefined {
  return skill && JSON.stringify(skill) !== JSON.stringify(before) ? skill : before;
}

function entryFor(folder: string, skill: Skill | undefined): [string, Skill][] {
  return skill ? [[folder, skill]] : [];
}

function cutOffText(path: string): string {
  return `${path} has more than ${MAX_SKILLS} skills, or too many folders to search. Some skills are left out; name the folders that contain them.`;
}
