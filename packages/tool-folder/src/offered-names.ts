// Gives the tools of several folders unique names.
import type { Logger } from '@pocket-agent/kit';
import { validToolName } from 'pocket-agent/internal';

export class OfferedNames {
  readonly #logger: Logger;
  /** The assigned names, by folder and tool. */
  readonly #assigned = new Map<string, string>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** The name in the manifest, unless another folder already uses it. A tool keeps its name for good. */
  nameFor(folder: string, tool: string): string {
    const key = `${folder}/${tool}`;
    const known = this.#assigned.get(key);
    if (known !== undefined) return known;
    const taken = new Set(this.#assigned.values());
    let name = validToolName(tool);
    for (let count = 1; taken.has(name); count++) {
      name = validToolName(`${folder}_${tool}${count === 1 ? '' : `_${count}`}`);
    }
    this.#assigned.set(key, name);
    if (name !== tool) this.#logger.warn(`Tool "${tool}" of tool folder "${folder}" is offered as "${name}".`);
    return name;
  }
}
