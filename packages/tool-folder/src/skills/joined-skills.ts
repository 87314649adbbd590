// The skills of several sources as one source, so that an agent has one load_skill and one read_skill_file.
import type { CallToolResult, Tool } from '@modelcontextprotocol/client';
import type { Logger } from '@pocket-agent/kit';
import { type Judgement, judge, type SkillSource, type ToolChoices, type ToolSource } from 'pocket-agent';
import { LOAD, SkillTools } from './skill-tools.ts';

export class JoinedSkills implements ToolSource {
  readonly name = 'skills';
  readonly hasOwnSchemas = true;
  readonly #parts: readonly SkillSource[];
  readonly #tools: SkillTools;

  constructor(parts: readonly SkillSource[], logger: Logger) {
    this.#parts = parts;
    this.#tools = new SkillTools((text) => logger.warn(text));
  }

  get revision(): number {
    return this.#parts.reduce((sum, { revision }) => sum + revision, 0);
  }

  async listTools(): Promise<readonly Tool[]> {
    const lists = await Promise.all(this.#parts.map((part) => part.list()));
    return this.#tools.offer(lists.flat());
  }

  async callTool(name: string, args: Record<string, unknown>): Promise<CallToolResult> {
    return this.#tools.call(name, args);
  }

  judge(tool: Tool): Judgement {
    return judge(tool);
  }

  choices(tool: Tool): ToolChoices {
    return this.#tools.choices(tool, tool.name);
  }

  returnsInstructions({ name }: Tool): boolean {
    return name === LOAD;
  }
}
