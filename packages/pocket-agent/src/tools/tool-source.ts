// The one interface behind MCP servers, sub-agents, plain functions and tool folders: list tools, call one.

import type { LanguageModelV4ProviderTool } from '@ai-sdk/provider';
import type {
  CallToolResult,
  ReadResourceResult,
  Resource,
  ResourceTemplateType,
  Tool,
} from '@modelcontextprotocol/client';
import { type Capability, type JudgedTool, type Judgement, judge } from '../access/capabilities.ts';
import type { Exposure } from '../access/exposure.ts';
import type { ToolProgress } from '../base/tool-call.ts';
import type { ElicitationHandler } from '../run/run-context.ts';
import type { ReachableTool, ToolCaller } from './inner-calls.ts';

/** Passed to a source with each call. */
export interface ToolCallContext {
  toolCallId: string;
  /** Aborted when the run is, and when it is out of time. */
  signal: AbortSignal;
  progress(update: ToolProgress): void;
  /** Sent to MCP servers as `_meta`: ids and names of call and agent, trace context, `toolCallMetadata`. */
  meta: Record<string, unknown>;
  /** `caller` of the run: on whose behalf the tool is called. */
  caller?: string | undefined;
  /** `metadata` of the run, frozen. */
  metadata?: Readonly<Record<string, unknown>>;
  /** Calls other tools of the run. Undefined outside of a run. */
  readonly tools?: ToolCaller;
  /**
   * Asks the person of the run. Set if another tool makes the call, such as a script: no model would read a question in
   * the result. Undefined if there is no person to ask.
   */
  readonly elicit?: ElicitationHandler | undefined;
  /** True for a tool that `resumes`, in a run that can be resumed. */
  readonly canResume?: boolean;
}

/** all: waits for every tool. ready: returns the tools that are available soon; the others follow with a new `revision`. */
export type ListWait = 'all' | 'ready';

/** Default of `waitMs`: how long `ready` waits for a server or remote agent. */
export const DEFAULT_WAIT_MS = 10_000;

/** The choices of a tool whose calls choose something, such as skills. Rules judge each choice like a tool. */
export interface ToolChoices {
  /** `name` is what profiles allow and deny, such as `skill:pdf`. */
  readonly all: readonly JudgedTool[];
  /** The choice that a call makes; undefined if its arguments name no choice. */
  chosenBy(args: Record<string, unknown>): JudgedTool | undefined;
  /** The tool as it is shown if only these choices are allowed. */
  limitedTo(choices: readonly JudgedTool[]): Tool;
}

/** A skill for clients of a served agent: its front matter and its files, in the form of the MCP extension for skills. */
export interface SkillEntry {
  /** The URI of its SKILL.md. */
  uri: string;
  frontmatter: Readonly<Record<string, unknown>>;
  resources: { uri: string; digest: string; size: number }[];
}

/** A file that clients of a served agent can read as an MCP resource. Rules judge it like a tool. */
export interface SourceResource {
  readonly resource: Resource;
  readonly judged: JudgedTool;
  read(): Promise<ReadResourceResult>;
  /** For the SKILL.md of a skill. Undefined if the skill is broken, or larger than clients have to accept. */
  skill?(): Promise<SkillEntry | undefined>;
}

/** The resources of a tool source; `asMcpServer()` offers them to clients. */
export interface SourceResources {
  list(): Promise<readonly SourceResource[]>;
  templates(): Promise<readonly ResourceTemplateType[]>;
  /** Also finds resources that are not listed. */
  find(uri: string): Promise<SourceResource | undefined>;
}

/** A folder with instructions for a kind of task, in SKILL.md. */
export interface Skill {
  readonly name: string;
  readonly description: string;
  /** The real path of its folder. */
  readonly path: string;
  /** Whether the model learns the path, which it needs to run scripts of the skill with other tools. */
  readonly showsPath: boolean;
  /** `metadata.capability`, or `read`: rules judge the skill like a tool with this capability. */
  readonly capability: Capability;
  /** The whole front matter, as it was written. */
  readonly frontMatter: Readonly<Record<string, unknown>>;
}

/** The skills of a source. An agent offers the skills of all its sources with one `load_skill`. */
export interface SkillSource {
  /** Changes with the list of skills. */
  readonly revision: number;
  list(): Promise<readonly Skill[]>;
  /** The source without the tools for its skills; undefined if it has no other tools. Its `close` is never called. */
  readonly otherTools?: ToolSource | undefined;
  /** One source for the skills of several. If two skills have the same name, the first is offered, with a warning. */
  join?(parts: readonly SkillSource[]): ToolSource;
}

/** Anything that lists tools and calls them: MCP servers, folders, agents, your own. */
export interface ToolSource {
  readonly name: string;
  /** True if the program wrote the schemas of the tools itself. Other schemas are checked in another process. */
  readonly hasOwnSchemas?: boolean | undefined;
  /** Changes whenever `listTools()` would answer differently; without it the list is read once. */
  readonly revision?: number | undefined;
  /**
   * Called at every step, before `revision` is read, to notice servers that have become available. Must be fast. At the
   * start of a run, unavailable servers are retried at once.
   */
  refresh?(isRunStart?: boolean): void;
  /** A changed tool must be a new object: tools are remembered by identity. */
  listTools(signal?: AbortSignal, wait?: ListWait): readonly Tool[] | Promise<readonly Tool[]>;
  /** Resolves with the result of the tool, also if it has `isError`; rejects if there is no result. */
  callTool(name: string, args: Record<string, unknown>, context: ToolCallContext): Promise<CallToolResult>;
  /** The capability of a tool by the source's own configuration. */
  judge?(tool: Tool): Judgement;
  /** For a tool whose calls choose something, such as a skill. Rules judge the choice instead of the tool. */
  choices?(tool: Tool): ToolChoices | undefined;
  /**
   * True if a call that ended with its process may be repeated with the same id: the tool continues where it stopped,
   * because its own calls are in the journal of the run.
   */
  resumes?(tool: Tool): boolean;
  /** True if results of the tool are instructions, such as those of a skill: compaction keeps them if it can. */
  returnsInstructions?(tool: Tool): boolean;
  /** If the source has tools for skills. */
  readonly skillSource?: SkillSource | undefined;
  /** Resources that an agent with this source offers to clients when it is served over MCP. */
  readonly resources?: SourceResources | undefined;
  /** For a tool that the provider of the model runs itself: its definition for the model. */
  providerTool?(tool: Tool): LanguageModelV4ProviderTool | undefined;
  /** How a tool is shown to the model. Default `auto`. */
  exposure?(tool: Tool): Exposure | undefined;
  /** For a source with a tool that calls others for the model: how that tool is shown, given the tools that it may call. */
  showCaller?(tool: Tool, reach: ToolsInReach): ShownCaller;
  /** The server or folder of a tool. Its description helps to find the tool. */
  group?(tool: Tool): ToolGroup | undefined;
  close?(): void | Promise<void>;
}

/** The server or folder that a tool belongs to, as lists of tools show it to the model. */
export interface ToolGroup {
  name: string;
  description?: string | undefined;
}

/** The tools that a tool such as `run_code` may call for the model. */
export interface ToolsInReach {
  /** Tools that the model cannot call directly. */
  only: readonly ReachableTool[];
  others: readonly ReachableTool[];
}

/** How a tool that calls others is shown to the model. */
export interface ShownCaller {
  tool: Tool;
  /** If its description has no room for the tools that only it may call: describes one of them in results of `find_tools`. */
  describe?: ((name: string) => string | undefined) | undefined;
}

/** A source whose tool calls others for the model, such as `run_code`. */
export type CallerSource = ToolSource & Required<Pick<ToolSource, 'showCaller'>>;

export function isCaller(source: ToolSource): source is CallerSource {
  return source.showCaller !== undefined;
}

/** The same source without `close`, for a user that does not own it. */
export function withoutClose(source: ToolSource): ToolSource {
  return {
    name: source.name,
    hasOwnSchemas: source.hasOwnSchemas,
    get revision() {
      return source.revision;
    },
    refresh: (isRunStart) => source.refresh?.(isRunStart),
    listTools: (signal, wait) => source.listTools(signal, wait),
    callTool: (name, args, context) => source.callTool(name, args, context),
    judge: (tool) => source.judge?.(tool) ?? judge(tool),
    choices: (tool) => source.choices?.(tool),
    resumes: (tool) => source.resumes?.(tool) ?? false,
    returnsInstructions: (tool) => source.returnsInstructions?.(tool) ?? false,
    skillSource: source.skillSource,
    resources: source.resources,
    providerTool: (tool) => source.providerTool?.(tool),
    exposure: (tool) => source.exposure?.(tool),
    group: (tool) => source.group?.(tool),
    ...(isCaller(source) ? { showCaller: (tool, reach) => source.showCaller(tool, reach) } : {}),
  };
}

/** Replaces the sources of skills by one source for all skills, at the position of the first. */
export function joinSkills(sources: readonly ToolSource[]): readonly ToolSource[] {
  const withSkills = sources.filter(({ skillSource }) => skillSource);
  const parts = withSkills.flatMap(({ skillSource }) => skillSource ?? []);
  const joined = parts.length > 1 ? parts.find(({ join }) => join)?.join?.(parts) : undefined;
  if (!joined) return sources;
  return sources.flatMap((source) => {
    if (!source.skillSource) return source;
    const { otherTools } = source.skillSource;
    return [...(source === withSkills[0] ? [joined] : []), ...(otherTools ? [otherTools] : [])];
  });
}

type ChoiceSource = Pick<ToolSource, 'choices'>;

/** The tool as rules allow it: itself, one with fewer choices, or undefined if it is refused. */
export function allowedTool(
  source: ChoiceSource,
  judged: JudgedTool,
  isAllowed: (tool: JudgedTool) => boolean,
): Tool | undefined {
  const choices = source.choices?.(judged.tool);
  if (!choices) return isAllowed(judged) ? judged.tool : undefined;
  const allowed = choices.all.filter(isAllowed);
  if (allowed.length === choices.all.length) return judged.tool;
  return allowed.length === 0 ? undefined : choices.limitedTo(allowed);
}

/** The tool that rules judge for a call: the choice that it makes, or the tool itself. */
export function judgedCall(source: ChoiceSource, judged: JudgedTool, args: Record<string, unknown>): JudgedTool {
  return source.choices?.(judged.tool)?.chosenBy(args) ?? judged;
}

/** A copy of the input schema of a tool. Used as a string, such as in a message to a model, it is JSON. */
export function inputFormatOf({ inputSchema }: Tool): Tool['inputSchema'] {
  return Object.defineProperty({ ...inputSchema }, 'toString', { value: () => JSON.stringify(inputSchema) });
}
