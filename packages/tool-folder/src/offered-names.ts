// The names under which tools of several folders are offered together.

import type { Logger } from '@pocket-agent/kit';
import { validToolName } from 'pocket-agent/internal';

export class OfferedNames {
  readonly #logger: Logger;
  /** Names that were given once, by folder and tool. */
  readonly #given = new Map<string, string>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** As the manifest says, unless another folder came first with that name; it stays the same ever after. */
  nameFor(folder: string, tool: string): string {
    const key = `${folder}/${tool}`;
    const known = this.#given.get(key);
    if (known !== undefined) return known;
    const taken = new Set(this.#given.values());
    let name = validToolName(tool);
    for (let count = 1; taken.has(name); count++) {
      name = validToolName(`${folder}_${tool}${count === 1 ? '' : `_${count}`}`);
    }
    this.#given.set(key, name);
    if (name !== tool) this.#logger.warn(`Tool "${tool}" of tool folder "${folder}" is offered as "${name}".`);
    return name;
  }
}
