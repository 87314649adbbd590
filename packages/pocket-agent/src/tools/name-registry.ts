// Gives tools names that every model accepts and that no other tool has.
import { sha256 } from '@pocket-agent/kit';
import { dropAbsent, shortToolName, validToolName } from '../base/tool-names.ts';

export interface RenamedTool {
  source: string;
  /** The name that was wanted. */
  ownName: string;
  /** The name that the tool has now. */
  toolName: string;
  reason: string;
}

interface NamedTool<Owner> {
  owner: Owner;
  /** The owner's name for the tool. */
  tool: string;
}

/** Keeps the name a tool was once given, so that a server that comes and goes does not rename others. */
export class NameRegistry<Owner extends { readonly name: string }> {
  /** By the name given here, also tools that are no longer listed. */
  readonly #named = new Map<string, NamedTool<Owner>>();

  find(name: string): NamedTool<Owner> | undefined {
    return this.#named.get(name);
  }

  nameFor(
    { owner, tool, wanted }: NamedTool<Owner> & { wanted: string },
    renamed: (change: RenamedTool) => void,
  ): string {
    const valid = validToolName(wanted);
    let name = valid;
    for (let count = 0; ; count++) {
      const holder = this.#named.get(name);
      if (!holder) break;
      if (holder.owner === owner && holder.tool === tool) return name;
      const seed = `${owner.name}\0${wanted}`;
      name = shortToolName(valid, sha256(count === 0 ? seed : `${seed}\0${count}`).slice(0, 6));
    }
    this.#named.set(name, { owner, tool });
    const reason =
      name === valid ? 'not every model accepts this name' : `another source already has a tool "${valid}"`;
    if (name !== wanted) renamed({ source: owner.name, ownName: wanted, toolName: name, reason });
    return name;
  }

  /** Names of tools that are not listed are kept in case they come back, up to a limit. */
  listed(names: ReadonlyMap<string, unknown>): void {
    dropAbsent(this.#named, names);
  }
}
