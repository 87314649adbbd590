// Folders of skills as one ToolSource: what `skills(['./skills'])` returns.
import { resolve } from 'node:path';
import type { CallToolResult, Tool } from '@modelcontextprotocol/client';
import { type Logger, PocketError, stderrLogger } from '@pocket-agent/kit';
import { type Judgement, judge, type ToolChoices, type ToolSource } from 'pocket-agent';
import { type ManifestProblem, problemText } from '../manifest/problem.ts';
import { findSkills, MAX_SKILLS } from './find-skills.ts';
import type { Skill } from './skill.ts';
import { skillResources } from './skill-resources.ts';
import { SkillTools } from './skill-tools.ts';

export interface SkillsOptions {
  /** True: listing throws if a skill has a problem. Default false: problems are logged and the other skills work. */
  strict?: boolean;
  logger?: Logger;
}

/** How many SKILL.md files are read at the same time. */
const PARALLEL = 20;

/** Each path is a skill, or a folder of skills. They are read when tools are first listed, or by `load()`. */
export function skills(paths: string | readonly string[], options: SkillsOptions = {}): SkillFolders {
  return new SkillFolders(typeof paths === 'string' ? [paths] : paths, options);
}

export class SkillFolders implements ToolSource {
  readonly name = 'skills';
  readonly hasOwnSchemas = true;
  readonly paths: readonly string[];
  readonly #logger: Logger;
  readonly #isStrict: boolean;
  readonly #tools = new SkillTools({ showsPath: true });
  readonly resources = skillResources({
    list: () => this.load(),
    judged: (skill) => this.#tools.judged(skill),
  });
  #problems: readonly ManifestProblem[] = [];
  #warnings: readonly ManifestProblem[] = [];
  #emptyPaths: readonly string[] = [];
  #loading: Promise<readonly Skill[]> | undefined;

  constructor(paths: readonly string[], { strict = false, logger = stderrLogger() }: SkillsOptions) {
    this.paths = paths.map((path) => resolve(path));
    this.#isStrict = strict;
    this.#logger = logger;
  }

  /** The skills that work; empty before the first `load()`. */
  get skills(): readonly Skill[] {
    return this.#tools.skills;
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

  /** Reads all skills once. */
  async load(): Promise<readonly Skill[]> {
    this.#loading ??= this.#read();
    try {
      return await this.#loading;
    } catch (error) {
      this.#loading = undefined;
      throw error;
    }
  }

  async listTools(): Promise<readonly Tool[]> {
    const loaded = await this.load();
    if (this.#isStrict && this.#problems.length > 0) {
      const text = this.#problems.map(problemText).join('\n');
      throw new PocketError('CONFIG_INVALID', text, { details: { problems: this.#problems } });
    }
    return this.#tools.offer(loaded);
  }

  async callTool(name: string, args: Record<string, unknown>): Promise<CallToolResult> {
    const tools = await this.listTools();
    if (!tools.some((tool) => tool.name === name))
      throw new PocketError('TOOL_UNKNOWN', `There is no tool "${name}" for skills.`);
    return this.#tools.call(name, args);
  }

  judge(tool: Tool): Judgement {
    return judge(tool);
  }

  choices(tool: Tool): ToolChoices {
    return this.#tools.choices(tool, tool.name);
  }

  async #read(): Promise<readonly Skill[]> {
    const found = await Promise.all(this.paths.map(findSkills));
    for (const [index, { isCutOff }] of found.entries()) {
      const path = this.paths[index];
      if (isCutOff)
        this.#logger.warn(
          `${path} has more than ${MAX_SKILLS} skills, or too many folders to search; some are left out.`,
        );
    }
    this.#emptyPaths = this.paths.filter((_path, index) => found[index]?.folders.length === 0);
    for (const path of this.#emptyPaths)
      this.#logger.warn(`There are no skills in ${path}: a skill is a folder with a SKILL.md.`);
    // loads zod and a YAML parser
    const { readSkill } = await import('./read-skill.ts');
    const byName = new Map<string, Skill>();
    const problems: ManifestProblem[] = [];
    const warnings: ManifestProblem[] = [];
    // one folder may be below another path
    const folders = [...new Set(found.flatMap(({ folders }) => folders))];
    for (let start = 0; start < folders.length; start += PARALLEL) {
      const some = await Promise.all(folders.slice(start, start + PARALLEL).map((folder) => readSkill(folder)));
      for (const read of some) {
        const other = read.skill && byName.get(read.skill.name);
        if (other) read.reportDuplicate(other);
        else if (read.skill) byName.set(read.skill.name, read.skill);
        problems.push(...read.problems);
        warnings.push(...read.warnings);
        for (const problem of [...read.problems, ...read.warnings]) this.#logger.warn(problemText(problem));
      }
    }
    this.#problems = problems;
    this.#warnings = warnings;
    const all = [...byName.values()];
    this.#tools.offer(all);
    return all;
  }
}
