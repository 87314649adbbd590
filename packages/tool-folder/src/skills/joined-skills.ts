// The skills of several sources as one source, so that an agent has one load_skill and one read_skill_file.
import type { CallToolResult, Tool } from '@modelcontextprotocol/client';
import type { Logger } from '@pocket-agent/kit';
import type { SkillSource, ToolSource } from 'pocket-agent';
import { SkillOffer } from './skill-offer.ts';

export class JoinedSkills extends SkillOffer implements ToolSource {
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
    return this.offered.offer(lists.flat());
  }

  async callTool(name: string, args: Record<string, unknown>): Promise<CallToolResult> {
    return this.offered.call(name, args);
  }
}
