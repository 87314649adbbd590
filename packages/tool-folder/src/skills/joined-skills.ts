// Joins the skills of several sources, so that an agent has one load_skill and one read_skill_file.
import type { CallToolResult, Tool } from '@modelcontextprotocol/client';
import type { Logger } from '@pocket-agent/kit';
import type { SkillSource, ToolSource } from 'pocket-agent';
import { SkillToolSource } from './skill-tool-source.ts';

export class JoinedSkills extends SkillToolSource implements ToolSource {
  readonly #parts: readonly SkillSource[];

  constructor(parts: readonly SkillSource[], logger: Logger) {
    super(logger);
    this.#parts = parts;
  }

  get revision(): number {
    return this.#parts.reduce((sum, { revision }) => sum + revision, 0);
  }

  async listTools(): Promise<readonly Tool[]> {
    const lists = await Promise.all(this.#parts.map((part) => part.list()));
    return this.skillTools.setSkills(lists.flat());
  }

  async callTool(name: string, args: Record<string, unknown>): Promise<CallToolResult> {
    return this.skillTools.call(name, args);
  }
}
