// A skill: a folder with instructions in SKILL.md.
import type { Capability } from 'pocket-agent';

export const SKILL_FILE = 'SKILL.md';

export interface Skill {
  readonly name: string;
  readonly description: string;
  /** The real path of its folder. */
  readonly path: string;
  /** `metadata.capability`, or `read`: rules judge the skill like a tool with this capability. */
  readonly capability: Capability;
  /** The whole front matter. */
  readonly frontMatter: Readonly<Record<string, unknown>>;
}
