// What sources with tools for skills have in common.

import type { Tool } from '@modelcontextprotocol/client';
import type { Logger } from '@pocket-agent/kit';
import { type Exposure, type Judgement, judge, type ToolChoices } from 'pocket-agent';
import { LOAD, SkillTools } from './skill-tools.ts';

export abstract class SkillOffer {
  readonly name = 'skills';
  readonly hasOwnSchemas = true;
  protected readonly offered: SkillTools;

  constructor(logger: Logger) {
    this.offered = new SkillTools((text) => logger.warn(text));
  }

  judge(tool: Tool): Judgement {
    return judge(tool);
  }

  choices(tool: Tool): ToolChoices {
    return this.offered.choices(tool, tool.name);
  }

  exposure(): Exposure {
    return 'direct';
  }

  returnsInstructions({ name }: Tool): boolean {
    return name === LOAD;
  }
}
