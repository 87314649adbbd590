// The tools for skills: load_skill returns the instructions of a skill, read_skill_file returns a file beside them.
import type { CallToolResult, Tool } from '@modelcontextprotocol/client';
import { errorText, PocketError, printable, snapshot } from '@pocket-agent/kit';
import type { JudgedTool, Skill, ToolChoices } from 'pocket-agent';
import { LOAD_SKILL } from 'pocket-agent/internal';
import { type ManifestProblem, problemText } from '../manifest/problem.ts';
import { duplicateName } from './skill.ts';
import { fileResult, type Lines, listSkillFiles, readSkillFile } from './skill-files.ts';

const READ = 'read_skill_file';

/** In characters. Above it, descriptions are shortened. */
const MAX_CATALOGUE = 30_000;
/** Providers limit the number of values in an enum. */
const MAX_ENUM = 200;

export class SkillTools {
  readonly #warn: (text: string) => void;
  readonly #warned = new Set<string>();
  #skills: ReadonlyMap<string, Skill> = new Map();
  #tools: readonly Tool[] = [];
  /** By tool name: the last tool with fewer skills, so that runs with the same rules get the same object. */
  readonly #limited = new Map<string, { names: string; tool: Tool }>();

  /** `warn` is called once for each skill whose name another skill has. */
  constructor(warn: (text: string) => void) {
    this.#warn = warn;
  }

  /** The tools for the current skills. */
  get tools(): readonly Tool[] {
    return this.#tools;
  }

  get skills(): readonly Skill[] {
    return [...this.#skills.values()];
  }

  /** Returns the tools for these skills, or no tools without skills. Of several skills with one name, the first is used. */
  setSkills(skills: readonly Skill[]): readonly Tool[] {
    const { byName, problems } = withoutDuplicates(skills);
    for (const text of problems.map(problemText)) {
      if (!this.#warned.has(text)) this.#warn(text);
      this.#warned.add(text);
    }
    const known = this.#skills;
    const isSame = known.size === byName.size && [...byName].every(([name, skill]) => known.get(name) === skill);
    if (isSame) return this.#tools;
    this.#skills = byName;
    this.#limited.clear();
    const all = [...byName.values()];
    this.#tools = all.length === 0 ? [] : [loadTool(all), readTool(all)];
    return this.#tools;
  }

  /** The skills as choices of a tool. `ownName` is its name here; `tool` may be renamed. */
  choices(tool: Tool, ownName: string): ToolChoices {
    const all = () => this.skills.map((skill) => choice(tool, skill));
    return {
      get all() {
        return all();
      },
      chosenBy: ({ skill: name }) => (typeof name === 'string' ? this.#choice(tool, name) : undefined),
      limitedTo: (choices) => this.#limitedTo(tool, ownName, choices),
    };
  }

  /** What rules judge when the skill is read as a resource. */
  judged(skill: Skill): JudgedTool {
    return choice(this.#tools[0] ?? loadTool([skill]), skill);
  }

  async call(ownName: string, args: Record<string, unknown>): Promise<CallToolResult> {
    const skill = this.#find(args.skill);
    return ownName === LOAD_SKILL ? this.#load(skill) : readFile(skill, args);
  }

  #find(name: unknown): Skill {
    const found = typeof name === 'string' ? this.#skills.get(name.normalize('NFKC')) : undefined;
    if (found) return found;
    // does not list the skills, because rules may hide some of them
    const requested = typeof name === 'string' ? `skill ${JSON.stringify(name.slice(0, 100))}` : 'skill without a name';
    const advice = 'The parameter "skill" lists the names.';
    throw new PocketError('TOOL_ARGUMENTS_INVALID', `There is no ${requested}. ${advice}`);
  }

  /** Unknown names are judged, too, so that rules for all skills apply to them. */
  #choice(tool: Tool, name: string): JudgedTool {
    const known = this.#skills.get(name.normalize('NFKC'));
    return known ? choice(tool, known) : { name: `skill:${name}`, capability: 'read', from: 'nothing', tool };
  }

  #limitedTo({ name }: Tool, ownName: string, choices: readonly JudgedTool[]): Tool {
    const allowed = new Set(choices.map((each) => each.name));
    const names = [...allowed].join('\n');
    const known = this.#limited.get(name);
    if (known?.names === names) return known.tool;
    const skills = this.skills.filter((skill) => allowed.has(ruleName(skill)));
    const tool = snapshot({ ...(ownName === LOAD_SKILL ? loadTool(skills) : readTool(skills)), name });
    this.#limited.set(name, { names, tool });
    return tool;
  }

  /** Reads the file again: it may have been edited since it was listed. */
  async #load(skill: Skill): Promise<CallToolResult> {
    const { readSkill } = await import('./read-skill.ts');
    const { skill: current, body, problems } = await readSkill(skill.path, { allowsAnyName: true, isRealPath: true });
    if (current?.name !== skill.name) {
      const reason = problems.map(problemText).join('\n') || `its name is now "${current?.name}"`;
      throw new PocketError('TOOL_FAILED', `The skill "${skill.name}" cannot be loaded: ${reason}`);
    }
    if (current.capability !== skill.capability) {
      const change = `its capability was "${skill.capability}" and is now "${current.capability}"`;
      throw new PocketError('TOOL_FAILED', `The skill "${skill.name}" must be listed again: ${change}.`);
    }
    const { paths, isCutOff } = await listSkillFiles(skill);
    const { compatibility } = current.frontMatter;
    const notes = [
      typeof compatibility === 'string' ? `Compatibility: ${printable(compatibility)}` : '',
      skill.showsPath ? `Folder of this skill: ${skill.path}` : '',
      paths.length > 0 ? `Files of this skill, for ${READ}:\n${paths.join('\n')}` : '',
      isCutOff ? '[there are more files]' : '',
    ].filter(Boolean);
    const texts = [body || '(this skill has no instructions besides its description)', ...notes];
    return { content: [{ type: 'text', text: texts.join('\n\n') }] };
  }
}

/** The first skill of each name, and a problem for each of the others. Finding the same skill twice is not a problem. */
export function withoutDuplicates(skills: readonly Skill[]): {
  byName: ReadonlyMap<string, Skill>;
  problems: ManifestProblem[];
} {
  const byName = new Map<string, Skill>();
  const problems: ManifestProblem[] = [];
  for (const skill of skills) {
    const other = byName.get(skill.name);
    if (!other) byName.set(skill.name, skill);
    else if (other.path !== skill.path) problems.push(duplicateName(skill, other));
  }
  return { byName, problems };
}

/** A problem for each skill that is not offered because an earlier one has its name. */
export function duplicateSkills(skills: readonly Skill[]): ManifestProblem[] {
  return withoutDuplicates(skills).problems;
}

/** The name of a skill in profiles, filters and audit records. */
function ruleName({ name }: Skill): string {
  return `skill:${name}`;
}

function choice(tool: Tool, skill: Skill): JudgedTool {
  const { capability, description } = skill;
  const from = Object.hasOwn((skill.frontMatter.metadata as object) ?? {}, 'capability') ? 'meta' : 'annotations';
  return { name: ruleName(skill), capability, from, tool: { ...tool, description } };
}

async function readFile(skill: Skill, args: Record<string, unknown>): Promise<CallToolResult> {
  const { path } = args;
  if (typeof path !== 'string') throw argumentError('"path" must be a string');
  const lines: Lines = { startLine: positiveInteger(args, 'startLine'), lineCount: positiveInteger(args, 'lineCount') };
  try {
    return fileResult(path, await readSkillFile(skill, path), lines);
  } catch (error) {
    throw new PocketError('TOOL_FAILED', errorText(error), { cause: error });
  }
}

function positiveInteger(args: Record<string, unknown>, key: string): number | undefined {
  const value = args[key];
  if (value === undefined || value === null) return undefined;
  if (Number.isInteger(value) && Number(value) > 0) return Number(value);
  throw argumentError(`"${key}" must be a whole number, 1 or more`);
}

function argumentError(problem: string): PocketError {
  return new PocketError('TOOL_ARGUMENTS_INVALID', `Bad arguments for "${READ}": ${problem}`);
}

type Properties = NonNullable<Tool['inputSchema']['properties']>;

const readOnly = { annotations: { readOnlyHint: true, openWorldHint: false } } as const;

function loadTool(skills: readonly Skill[]): Tool {
  return snapshot({
    name: LOAD_SKILL,
    description:
      'Returns the instructions of a skill. When a task fits the description of a skill, call this first and follow the instructions. The parameter "skill" lists the skills.',
    inputSchema: objectOf({ skill: nameSchema(skills, `One of these skills:\n${catalogue(skills)}`) }, ['skill']),
    ...readOnly,
  });
}

function readTool(skills: readonly Skill[]): Tool {
  const line = (description: string) => ({ type: 'integer', minimum: 1, description });
  return snapshot({
    name: READ,
    description: `Reads a text file or an image of a skill that its instructions mention. ${LOAD_SKILL} lists the files.`,
    inputSchema: objectOf(
      {
        skill: nameSchema(skills, 'The name of the skill'),
        path: { type: 'string', description: 'The path below the skill, such as references/guide.md' },
        startLine: line('The first line to read; default: 1'),
        lineCount: line('How many lines to read; default: all that fit'),
      },
      ['skill', 'path'],
    ),
    ...readOnly,
  });
}

function objectOf(properties: Properties, required: string[]): Tool['inputSchema'] {
  return { type: 'object', properties, required, additionalProperties: false };
}

/** The skills are listed in the schema, because OpenAI refuses tools with a description of more than 1,024 characters. */
function nameSchema(skills: readonly Skill[], description: string): Properties[string] {
  const names = skills.map(({ name }) => name);
  return { type: 'string', ...(names.length <= MAX_ENUM ? { enum: names } : {}), description };
}

/** One line for each skill. If the list is too long, all descriptions are cut to the same length. */
function catalogue(skills: readonly Skill[]): string {
  const lines = skills.map(({ name, description }) => ({ name, description: printable(description) }));
  const length = lines.reduce((sum, { name, description }) => sum + name.length + description.length + 5, 0);
  const namesLength = lines.reduce((sum, { name }) => sum + name.length + 6, 0);
  const each = Math.max(20, Math.floor((MAX_CATALOGUE - namesLength) / Math.max(lines.length, 1)));
  const shortened = (text: string) => (text.length > each ? `${text.slice(0, each)}…` : text);
  return lines
    .map(({ name, description }) => `- ${name}: ${length > MAX_CATALOGUE ? shortened(description) : description}`)
    .join('\n');
}
