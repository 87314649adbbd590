// Joins several tool folder paths into one, for a server with one list of tools.
import type { CallToolResult, Tool } from '@modelcontextprotocol/client';
import { PocketError } from '@pocket-agent/kit';
import {
  type FolderCallContext,
  type FolderState,
  ToolFolder,
  type ToolFolderOptions,
} from '@pocket-agent/tool-folder';
import type { Judgement, ListWait } from 'pocket-agent';

export class JoinedFolders extends ToolFolder {
  readonly #parts: readonly ToolFolder[];
  /** Tool name to folder, from the last listing. */
  #owners: ReadonlyMap<string, ToolFolder> = new Map();

  constructor(parts: readonly ToolFolder[], options: ToolFolderOptions) {
    super(parts[0]?.path ?? '.', options);
    this.#parts = parts;
  }

  override get folders(): readonly FolderState[] {
    return this.#parts.flatMap((part) => part.folders);
  }

  override async load(): Promise<readonly FolderState[]> {
    await Promise.all(this.#parts.map((part) => part.load()));
    return this.folders;
  }

  override async listTools(signal?: AbortSignal, wait?: ListWait): Promise<readonly Tool[]> {
    const lists = await Promise.all(this.#parts.map((part) => part.listTools(signal, wait)));
    const owners = new Map<string, ToolFolder>();
    for (const [index, part] of this.#parts.entries()) {
      for (const { name } of lists[index] ?? []) {
        const other = owners.get(name);
        if (other !== undefined) {
          throw new PocketError(
            'CONFIG_INVALID',
            `${other.path} and ${part.path} both have a tool "${name}": rename one.`,
          );
        }
        owners.set(name, part);
      }
    }
    this.#owners = owners;
    return lists.flat();
  }

  override async callTool(
    name: string,
    args: Record<string, unknown>,
    context: FolderCallContext,
  ): Promise<CallToolResult> {
    await this.listTools(context.signal, 'ready');
    const owner = this.#owners.get(name);
    if (owner) return owner.callTool(name, args, context);
    const known = [...this.#owners.keys()].join(', ') || 'none';
    throw new PocketError('TOOL_UNKNOWN', `There is no tool "${name}". Available: ${known}.`);
  }

  override judge(tool: Tool): Judgement {
    return this.#owners.get(tool.name)?.judge(tool) ?? super.judge(tool);
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
