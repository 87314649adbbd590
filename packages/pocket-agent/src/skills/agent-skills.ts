// The option `skills` of an agent: folders of skills as a tool source. @pocket-agent/tool-folder, which is loaded with the
// first use, reads them.
import { resolve } from 'node:path';
import type { CallToolResult, Tool } from '@modelcontextprotocol/client';
import { configError, installCommand, type Logger } from '@pocket-agent/kit';
import { type Judgement, judge } from '../access/capabilities.ts';
import type { Exposure } from '../access/exposure.ts';
import type { SkillSource, SourceResources, ToolCallContext, ToolChoices, ToolSource } from '../tools/tool-source.ts';

const PACKAGE = '@pocket-agent/tool-folder';

type LoadedSource = ToolSource & { readonly resources: SourceResources; readonly skillSource: SkillSource };

/** The part of the package that is used here. */
interface SkillsModule {
  skills(paths: readonly string[], options: { logger: Logger }): LoadedSource;
}

class AgentSkills implements ToolSource {
  readonly name = 'skills';
  readonly hasOwnSchemas = true;
  readonly resources: SourceResources;
  readonly skillSource: SkillSource;
  readonly #paths: readonly string[];
  readonly #logger: Logger;
  #loading: Promise<LoadedSource> | undefined;
  #loaded: LoadedSource | undefined;

  constructor(paths: readonly string[], logger: Logger) {
    // relative to the folder that is current now
    this.#paths = paths.map((path) => resolve(path));
    this.#logger = logger;
    this.resources = {
      list: async () => (await this.#load()).resources.list(),
      templates: async () => (await this.#load()).resources.templates(),
      find: async (uri) => (await this.#load()).resources.find(uri),
    };
    this.skillSource = { revision: 0, list: async () => (await this.#load()).skillSource.list() };
  }

  async listTools(): Promise<readonly Tool[]> {
    return (await this.#load()).listTools();
  }

  async callTool(name: string, args: Record<string, unknown>, context: ToolCallContext): Promise<CallToolResult> {
    return (await this.#load()).callTool(name, args, context);
  }

  judge(tool: Tool): Judgement {
    return this.#loaded?.judge?.(tool) ?? judge(tool);
  }

  choices(tool: Tool): ToolChoices | undefined {
    return this.#loaded?.choices?.(tool);
  }

  exposure(): Exposure {
    return 'direct';
  }

  returnsInstructions(tool: Tool): boolean {
    return this.#loaded?.returnsInstructions?.(tool) ?? false;
  }

  async #load(): Promise<LoadedSource> {
    this.#loading ??= this.#import();
    try {
      this.#loaded = await this.#loading;
      return this.#loaded;
    } catch (error) {
      this.#loading = undefined;
      throw error;
    }
  }

  async #import(): Promise<LoadedSource> {
    const { skills }: SkillsModule = await import(/* webpackIgnore: true */ /* @vite-ignore */ PACKAGE).catch(
      (error: unknown) => {
        if (isInstalled()) throw error;
        const text = `The option "skills" needs the package ${PACKAGE}: ${installCommand(PACKAGE)}.`;
        throw configError(text, error);
      },
    );
    return skills(this.#paths, { logger: this.#logger });
  }
}

function isInstalled(): boolean {
  try {
    import.meta.resolve(PACKAGE);
    return true;
  } catch {
    return false;
  }
}

/** By the frozen list of paths: forks get the same list, so skills are read once for all conversations. */
const shared = new WeakMap<readonly string[], ToolSource>();

/** `paths` must be frozen. */
export function agentSkills(paths: readonly string[], logger: Logger): ToolSource {
  const known = shared.get(paths) ?? new AgentSkills(paths, logger);
  shared.set(paths, known);
  return known;
}
