// The base class of sources whose tools are those for skills.
import type { Tool } from '@modelcontextprotocol/client';
import type { Logger } from '@pocket-agent/kit';
import { type Exposure, type Judgement, judge, type ToolChoices } from 'pocket-agent';
import { LOAD_SKILL } from 'pocket-agent/internal';
import { SkillTools } from './skill-tools.ts';

export abstract class SkillToolSource {
  readonly name = 'skills';
  readonly hasOwnSchemas = true;
  protected readonly skillTools: SkillTools;

  constructor(logger: Logger) {
    this.skillTools = new SkillTools((text) => logger.warn(text));
  }

  judge(tool: Tool): Judgement {
    return judge(tool);
  }

  choices(tool: Tool): ToolChoices {
    return this.skillTools.choices(tool, tool.name);
  }

  exposure(): Exposure {
    return 'direct';
  }

  returnsInstructions({ name }: Tool): boolean {
    return name === LOAD_SKILL;
  }
}
