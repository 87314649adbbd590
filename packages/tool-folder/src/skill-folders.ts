// Folders of skills as one ToolSource: what `skills(['./skills'])` returns.
import { resolve } from 'node:path';
import type { CallToolResult, Tool } from '@modelcontextprotocol/client';
import { errorText, type Logger, PocketError, stderrLogger } from '@pocket-agent/kit';
import type { Skill, SkillSource, ToolSource } from 'pocket-agent';
import { type ManifestProblem, problemText } from './manifest/problem.ts';
import { directoriesToWatch } from './reading/find-folders.ts';
import { FolderWatcher } from './reading/watcher.ts';
import { findSkills, MAX_SKILLS } from './skills/find-skills.ts';
import { JoinedSkills } from './skills/joined-skills.ts';
import type { ReadSkill } from './skills/read-skill.ts';
import { SkillOffer } from './skills/skill-offer.ts';
import { skillResources } from './skills/skill-resources.ts';
import { withoutDuplicates } from './skills/skill-tools.ts';

/** What happens with skills that are broken or change. */
export interface SkillsOptions {
  /** True: listing throws if a skill has a problem. Default false: problems are logged and the other skills work. */
  strict?: boolean;
  /** True: notice skills that are edited, added or removed. Default false. */
  watch?: boolean;
  logger?: Logger;
}

/** How many SKILL.md files are read at the same time. */
const PARALLEL = 20;

/** Each path is a skill, or a folder of skills. They are read when tools are first listed, or by `load()`. */
export function skills(paths: string | readonly string[], options: SkillsOptions = {}): SkillFolders {
  return new SkillFolders(typeof paths === 'string' ? [paths] : paths, options);
}

export class SkillFolders extends SkillOffer implements ToolSource {
  readonly paths: readonly string[];
  readonly #logger: Logger;
  readonly #isStrict: boolean;
  readonly resources = skillResources({
    list: () => this.load(),
    judged: (skill) => this.offered.judged(skill),
  });
  readonly skillSource: SkillSource;
  readonly #watcher: FolderWatcher | undefined;
  readonly #listeners = new Set<() => void>();
  /** By the path that was searched. */
  #byFolder: ReadonlyMap<string, Skill> = new Map();
  #problems: readonly ManifestProblem[] = [];
  #warnings: readonly ManifestProblem[] = [];
  #emptyPaths: readonly string[] = [];
  /** Lines that were logged after the last reading. */
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
    return this.offered.skills;
  }

  /** The problems of skills that are not offered. */
  get problems(): readonly ManifestProblem[] {
    return this.#problems;
  }

  /** Keys that the specification does not know; their skills are offered. */
  get warnings(): readonly ManifestProblem[] {
    return this.#warnings;
  }

  /** The paths without any skill. */
  get emptyPaths(): readonly string[] {
    return this.#emptyPaths;
  }

  /** Increases when a name, a description or other front matter changes. */
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
    return this.offered.offer(await this.#checkedSkills());
  }

  async callTool(name: string, args: Record<string, unknown>): Promise<CallToolResult> {
    const tools = await this.listTools();
    if (!tools.some((tool) => tool.name === name))
      throw new PocketError('TOOL_UNKNOWN', `There is no tool "${name}" for skills.`);
    return this.offered.call(name, args);
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
    // one folder may be below another path
    const folders = [...new Set(found.flatMap(({ folders }) => folders))];
    const reads = await readAll(folders);
    const before = this.#byFolder;
    this.#byFolder = new Map(reads.flatMap(([folder, { skill }]) => pair(folder, current(skill, before.get(folder)))));
    const { byName, problems } = withoutDuplicates([...this.#byFolder.values()]);
    this.#problems = [...reads.flatMap(([, read]) => read.problems), ...problems];
    this.#warnings = reads.flatMap(([, read]) => read.warnings);
    this.#log([
      ...this.paths.flatMap((path, index) => (found[index]?.isCutOff ? tooManyText(path) : [])),
      ...this.#emptyPaths.map((path) => `There are no skills in ${path}: a skill is a folder with a SKILL.md.`),
      ...[...this.#problems, ...this.#warnings].map(problemText),
    ]);
    const tools = this.offered.tools;
    if (this.offered.offer([...byName.values()]) !== tools) this.#revision++;
  }

  /** A line that was logged after the last reading is not repeated. */
  #log(lines: readonly string[]): void {
    for (const line of lines) if (!this.#logged.includes(line)) this.#logger.warn(line);
    this.#logged = lines;
  }
}

async function readAll(folders: readonly string[]): Promise<[string, ReadSkill][]> {
  // loads zod and a YAML parser
  const { readSkill } = await import('./skills/read-skill.ts');
  const reads: [string, ReadSkill][] = [];
  for (let start = 0; start < folders.length; start += PARALLEL) {
    const some = folders.slice(start, start + PARALLEL);
    reads.push(
      ...(await Promise.all(
        some.map(
          async (folder): Promise<[string, ReadSkill]> => [folder, await readSkill(folder, { showsPath: true })],
        ),
      )),
    );
  }
  return reads;
}

/** Returns the same object if only the text has changed. A skill that an edit broke stays as it was before. */
function current(skill: Skill | undefined, before: Skill | undefined): Skill | undefined {
  return skill && JSON.stringify(skill) !== JSON.stringify(before) ? skill : before;
}

function pair(folder: string, skill: Skill | undefined): [string, Skill][] {
  return skill ? [[folder, skill]] : [];
}

function tooManyText(path: string): string {
  return `${path} has more than ${MAX_SKILLS} skills, or too many folders to search; some are left out.`;
}
