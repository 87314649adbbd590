// Joins the tool folders of several paths, for a server with one list of tools.
import type { CallToolResult, Tool } from '@modelcontextprotocol/client';
import { PocketError } from '@pocket-agent/kit';
import type { Exposure, Judgement, ListWait, Skill, ToolChoices, ToolGroup } from 'pocket-agent';
import type { FolderState } from './running/folder-set.ts';
import type { FolderCallContext } from './running/running-folder.ts';
import { JoinedSkills } from './skills/joined-skills.ts';
import { ToolFolder } from './tool-folder.ts';
import type { ToolFolderOptions } from './tool-folder-options.ts';

export class JoinedFolders extends ToolFolder {
  readonly #parts: readonly ToolFolder[];
  /** Replaces the skill tools of the parts, so that all skills are in one list. */
  readonly #skills: JoinedSkills;
  /** By tool name, from the last listing. `this` owns the skill tools. */
  #owners: ReadonlyMap<string, ToolFolder> = new Map();

  constructor(parts: readonly ToolFolder[], options: ToolFolderOptions) {
    super(parts[0]?.path ?? '.', options);
    this.#parts = parts;
    this.#skills = new JoinedSkills(
      parts.map(({ skillSource }) => skillSource),
      this.logger,
    );
  }

  override get folders(): readonly FolderState[] {
    return this.#parts.flatMap((part) => part.folders);
  }

  override get skills(): readonly Skill[] {
    return this.#parts.flatMap((part) => part.skills);
  }

  override get revision(): number {
    return this.#parts.reduce((sum, { revision }) => sum + revision, 0);
  }

  override async load(): Promise<readonly FolderState[]> {
    await Promise.all(this.#parts.map((part) => part.load()));
    return this.folders;
  }

  override async listTools(signal?: AbortSignal, wait?: ListWait): Promise<readonly Tool[]> {
    const others = this.#parts.map(({ skillSource }) => skillSource.otherTools?.listTools(signal, wait) ?? []);
    const lists = await Promise.all(others);
    const skillTools = await this.#skills.listTools();
    const owners = new Map<string, ToolFolder>(skillTools.map(({ name }) => [name, this]));
    for (const [index, part] of this.#parts.entries()) {
      for (const { name } of lists[index] ?? []) {
        const other = owners.get(name);
        if (other !== undefined) {
          throw new PocketError(
            'CONFIG_INVALID',
            `${other.path} and ${part.path} both have a tool "${name}". Rename one.`,
          );
        }
        owners.set(name, part);
      }
    }
    this.#owners = owners;
    return [...lists.flat(), ...skillTools];
  }

  override async callTool(
    name: string,
    args: Record<string, unknown>,
    context: FolderCallContext,
  ): Promise<CallToolResult> {
    await this.listTools(context.signal, 'ready');
    const owner = this.#owners.get(name);
    if (owner === this) return this.#skills.callTool(name, args);
    if (owner) return owner.callTool(name, args, context);
    const known = [...this.#owners.keys()].join(', ') || 'none';
    throw new PocketError('TOOL_UNKNOWN', `There is no tool "${name}". Available: ${known}.`);
  }

  override judge(tool: Tool): Judgement {
    const owner = this.#owners.get(tool.name);
    return owner && owner !== this ? owner.judge(tool) : super.judge(tool);
  }

  override choices(tool: Tool): ToolChoices | undefined {
    return this.#owners.get(tool.name) === this ? this.#skills.choices(tool) : undefined;
  }

  override exposure(tool: Tool): Exposure | undefined {
    const owner = this.#owners.get(tool.name);
    return owner && owner !== this ? owner.exposure(tool) : 'direct';
  }

  override group(tool: Tool): ToolGroup | undefined {
    const owner = this.#owners.get(tool.name);
    return owner && owner !== this ? owner.group(tool) : undefined;
  }

  override returnsInstructions(tool: Tool): boolean {
    return this.#owners.get(tool.name) === this && this.#skills.returnsInstructions(tool);
  }

  override onChange(listener: () => void): () => void {
    const ends = this.#parts.map((part) => part.onChange(listener));
    return () => {
      for (const end of ends) end();
    };
  }

  override async close(): Promise<void> {
    await Promise.all(this.#parts.map((part) => part.close()));
  }
}
