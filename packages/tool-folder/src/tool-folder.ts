// ToolFolder: folders with manifest.yaml and tool.ts, or with SKILL.md, as one ToolSource. Folders can be switched at any time.
import { basename, resolve } from 'node:path';
import type { CallToolResult, Tool } from '@modelcontextprotocol/client';
import { didYouMean, errorText, type Logger, neverAborted, PocketError, stderrLogger } from '@pocket-agent/kit';
import {
  type Exposure,
  type Judgement,
  judge,
  type ListWait,
  type Skill,
  type SkillSource,
  type SourceResources,
  type ToolChoices,
  type ToolGroup,
  type ToolSource,
} from 'pocket-agent';
import { exposureIn, LOAD_SKILL } from 'pocket-agent/internal';
import { problemText } from './manifest/problem.ts';
import { OfferedNames } from './offered-names.ts';
import type { FolderSet, FolderState } from './running/folder-set.ts';
import type { FolderCallContext, RunningFolder } from './running/running-folder.ts';
import { JoinedSkills } from './skills/joined-skills.ts';
import { skillResources } from './skills/skill-resources.ts';
import { SkillTools } from './skills/skill-tools.ts';
import { checkFolderOptions, folderSetOptions, type ToolFolderOptions } from './tool-folder-options.ts';
import { ToolFolderServer, type ToolFolderServerOptions } from './tool-folder-server.ts';

/** Loads the tool folders of a path: `path` itself, or its subfolders. They are read when tools are first listed, or by `load()`. */
export function loadToolFolder(path: string, options: ToolFolderOptions = {}): ToolFolder {
  return new ToolFolder(path, options);
}

interface Route {
  /** Undefined for the tools for skills. */
  folder: string | undefined;
  tool: string;
}

/** The folder name of the tools for skills, in `OfferedNames`. */
const SKILLS = 'skills';

export class ToolFolder implements ToolSource {
  readonly name: string;
  readonly path: string;
  readonly logger: Logger;
  readonly #options: ToolFolderOptions;
  readonly #names: OfferedNames;
  readonly #skillTools = new SkillTools((text) => this.logger.warn(text));
  /** The skills of the active folders, for clients of an agent that is served over MCP. */
  readonly resources: SourceResources = skillResources({
    list: async () => {
      await this.load();
      return this.skills;
    },
    judged: (skill) => this.#skillTools.judged(skill),
  });
  readonly skillSource: SkillSource = skillSourceOf(this);
  readonly #listeners = new Set<() => void>();
  #set: FolderSet | undefined;
  #active: readonly string[] | 'all';
  #routes = new Map<string, Route>();
  #routedAt = -1;
  #revision = 0;
  #loading: Promise<void> | undefined;
  #lastWork: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(path: string, options: ToolFolderOptions) {
    this.path = resolve(path);
    this.name = basename(this.path);
    checkFolderOptions(options);
    this.logger = options.logger ?? stderrLogger();
    this.#options = { ...options };
    this.#names = new OfferedNames(this.logger);
    this.#active = copyNames(options.active ?? 'all');
  }

  /** The folders as last read; empty before the first `load()`. */
  get folders(): readonly FolderState[] {
    return this.#set?.states ?? [];
  }

  /** The skills of the active folders. */
  get skills(): readonly Skill[] {
    return this.#set?.running.flatMap(({ folder }) => folder.skill ?? []) ?? [];
  }

  get revision(): number {
    return this.#revision + (this.#set?.revision ?? 0);
  }

  refresh(isRunStart = false): void {
    for (const { client } of this.#set?.running ?? []) client?.refresh(isRunStart);
  }

  /** Reads all folders once; with `watch`, edited folders are read again. */
  async load(): Promise<readonly FolderState[]> {
    this.#assertOpen();
    this.#loading ??= this.#inOrder(() => this.#start());
    try {
      await this.#loading;
    } catch (error) {
      this.#loading = undefined;
      throw error;
    }
    this.#assertOpen();
    return this.folders;
  }

  /** Makes exactly these folders active. Agents see the change in their next step. */
  async activate(names: readonly string[] | 'all'): Promise<void> {
    const wanted = copyNames(names);
    await this.load();
    await this.#inOrder(async () => {
      this.#assertKnown(wanted);
      this.#active = wanted;
      this.#run();
      this.#changed();
    });
  }

  async listTools(signal?: AbortSignal, wait?: ListWait): Promise<readonly Tool[]> {
    await this.load();
    if (this.#options.strict) this.#assertNoProblems();
    const { revision } = this;
    const running = this.#set?.running ?? [];
    const lists = await Promise.all(running.map((folder) => folder.listTools(signal, wait)));
    const routes = new Map<string, Route>();
    const tools: Tool[] = [];
    const add = (folder: string | undefined, tool: Tool) => {
      const name = this.#names.nameFor(folder ?? SKILLS, tool.name);
      routes.set(name, { folder, tool: tool.name });
      tools.push(name === tool.name ? tool : { ...tool, name });
    };
    for (const [index, { folder }] of running.entries()) for (const tool of lists[index] ?? []) add(folder.name, tool);
    for (const tool of this.#skillTools.setSkills(this.skills)) add(undefined, tool);
    this.#routes = routes;
    this.#routedAt = revision;
    return tools;
  }

  async callTool(
    name: string,
    args: Record<string, unknown>,
    context: Partial<FolderCallContext> = {},
  ): Promise<CallToolResult> {
    this.#assertOpen();
    if (this.#routedAt !== this.revision) await this.listTools(context.signal, 'ready');
    const skillTool = this.#skillToolOf(name);
    if (skillTool !== undefined) return this.#skillTools.call(skillTool, args);
    const { running, tool } = this.#find(name);
    if (!running) {
      const known = [...this.#routes.keys()].join(', ') || 'none';
      throw new PocketError('TOOL_UNKNOWN', `No active tool folder has a tool "${name}". Available: ${known}.`);
    }
    return running.callTool(tool, args, {
      toolCallId: name,
      signal: neverAborted(),
      progress: () => {},
      meta: {},
      ...context,
    });
  }

  judge(tool: Tool): Judgement {
    const { running, tool: ownName } = this.#find(tool.name);
    if (!running) return judge(tool);
    const judgement = running.judge({ ...tool, name: ownName });
    return ownName === tool.name ? judgement : { ownName, ...judgement };
  }

  choices(tool: Tool): ToolChoices | undefined {
    const ownName = this.#skillToolOf(tool.name);
    return ownName === undefined ? undefined : this.#skillTools.choices(tool, ownName);
  }

  /** Options take precedence over the manifest. The tools for skills are always in the prompt. */
  exposure(tool: Tool): Exposure | undefined {
    const { name } = tool;
    if (this.#skillToolOf(name) !== undefined) return 'direct';
    const { running, tool: ownName } = this.#find(name);
    return exposureIn(this.#options.exposure, [ownName, name]) ?? running?.exposure({ ...tool, name: ownName });
  }

  group({ name }: Tool): ToolGroup | undefined {
    const { running } = this.#find(name);
    return running && { name: running.folder.name };
  }

  returnsInstructions({ name }: Tool): boolean {
    return this.#skillToolOf(name) === LOAD_SKILL;
  }

  /** Calls `listener` when a folder is added, edited, removed or switched. Returns a function to unsubscribe. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** An MCP server for these folders, on stdio or HTTP. */
  asMcpServer(options: ToolFolderServerOptions = {}): ToolFolderServer {
    return new ToolFolderServer(this, options);
  }

  /** Aborts running calls, unloads all folders and stops watching. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#listeners.clear();
    await this.#set?.close();
    await this.#lastWork.catch(() => {});
    // the last work may have started a folder
    await this.#set?.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #start(): Promise<void> {
    const { FolderSet } = await import('./running/folder-set.ts');
    const { logger, path } = this;
    const { running, ...reading } = folderSetOptions(this.#options);
    const onEdit = this.#options.watch ? () => this.#readAgain() : undefined;
    this.#set ??= new FolderSet({ path, logger, ...reading, running: { logger, ...running }, onEdit });
    await this.#set.scan();
    this.#assertKnown(this.#active);
    if (this.#set.names.length === 0)
      this.logger.warn(
        `There are no tool folders in ${path}: a tool folder has a manifest.yaml and a tool.ts, or a SKILL.md.`,
      );
    this.#run();
  }

  #readAgain(): void {
    const reading = this.#inOrder(async () => {
      if (this.#isClosed || !(await this.#set?.scan())) return;
      this.#run();
      this.#changed();
    });
    reading.catch((error) => this.logger.warn(`Cannot reload ${this.path}: ${errorText(error)}`));
  }

  /** Runs loading, activation and reloading one at a time. */
  #inOrder<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = this.#lastWork.then(work, work);
    this.#lastWork = done.catch(() => {});
    return done;
  }

  #run(): void {
    if (this.#isClosed) return;
    const active = this.#active;
    this.#set?.run((name) => active === 'all' || active.includes(name));
  }

  #changed(): void {
    this.#revision++;
    for (const listener of this.#listeners) {
      try {
        listener();
      } catch (error) {
        this.logger.warn(`A change listener of ${this.path} failed: ${errorText(error)}`);
      }
    }
  }

  #find(name: string): { running: RunningFolder | undefined; tool: string } {
    const { folder, tool = name } = this.#routes.get(name) ?? {};
    return { running: folder === undefined ? undefined : this.#set?.runningFolder(folder), tool };
  }

  /** The original name of a tool for skills; undefined for other tools. */
  #skillToolOf(name: string): string | undefined {
    const route = this.#routes.get(name);
    return route && route.folder === undefined ? route.tool : undefined;
  }

  #assertOpen(): void {
    if (this.#isClosed)
      throw new PocketError(
        'AGENT_CLOSED',
        `The tool folder ${this.path} was closed. Load it again with loadToolFolder().`,
      );
  }

  #assertKnown(names: readonly string[] | 'all'): void {
    if (names === 'all') return;
    const known = this.#set?.names ?? [];
    const unknown = names.find((name) => !known.includes(name));
    if (unknown === undefined) return;
    const hint = didYouMean(unknown, known);
    throw new PocketError(
      'CONFIG_INVALID',
      `There is no tool folder "${unknown}" in ${this.path}.${hint} Available: ${known.join(', ') || 'none'}.`,
    );
  }

  #assertNoProblems(): void {
    const problems = this.folders.flatMap((folder) => folder.problems);
    if (problems.length === 0) return;
    throw new PocketError('CONFIG_INVALID', problems.map(problemText).join('\n'), { details: { problems } });
  }
}

function skillSourceOf(folder: ToolFolder): SkillSource {
  return {
    get revision() {
      return folder.revision;
    },
    list: async () => {
      await folder.load();
      return folder.skills;
    },
    otherTools: {
      name: folder.name,
      get revision() {
        return folder.revision;
      },
      refresh: (isRunStart) => folder.refresh(isRunStart),
      listTools: async (signal, wait) => {
        const tools = await folder.listTools(signal, wait);
        return tools.filter((tool) => folder.choices(tool) === undefined);
      },
      callTool: (name, args, context) => folder.callTool(name, args, context),
      exposure: (tool) => folder.exposure(tool),
      group: (tool) => folder.group(tool),
      judge: (tool) => folder.judge(tool),
    },
    join: (parts) => new JoinedSkills(parts, folder.logger),
  };
}

function copyNames(names: readonly string[] | 'all'): readonly string[] | 'all' {
  return names === 'all' ? names : [...names];
}
