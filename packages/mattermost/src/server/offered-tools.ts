// The tools as a profile is shown them, described once: the newer era makes a server for every request.
import type { ListToolsResult, McpRequestContext } from '@modelcontextprotocol/server';
import { allows, type Profile } from '../base/access.ts';
import { allTools } from '../tools/all.ts';
import type { Tool } from '../tools/base/tool.ts';

export interface OfferedTool {
  tool: Tool;
  /** What is outside of the profile is not shown, yet who calls it is told why it cannot be. */
  isAllowed: boolean;
  described: Pick<Tool, 'title' | 'description' | 'annotations' | 'outputSchema'> & {
    inputSchema: ReturnType<Tool['inputSchema']>;
    _meta: Record<string, unknown>;
  };
}

export interface OfferedTools {
  byName: ReadonlyMap<string, OfferedTool>;
  listed: ListToolsResult['tools'];
}

const JSON_SCHEMA = { target: 'draft-2020-12' } as const;

export function offerTools(hasDefaultTeam: boolean): (profile: Profile) => OfferedTools {
  const known = new Map<Profile, OfferedTools>();
  return (profile) => {
    const offered = known.get(profile) ?? offeredTo(profile, hasDefaultTeam);
    known.set(profile, offered);
    return offered;
  };
}

function offeredTo(profile: Profile, hasDefaultTeam: boolean): OfferedTools {
  const offered = allTools.map((tool): OfferedTool => {
    const { title, description, annotations, outputSchema, meta } = tool;
    const inputSchema = tool.inputSchema(hasDefaultTeam);
    const described = { title, description, annotations, inputSchema, outputSchema, _meta: { ...meta } };
    return { tool, isAllowed: allows(profile, tool.capability), described };
  });
  return {
    byName: new Map(offered.map((one) => [one.tool.name, one])),
    listed: offered.filter(({ isAllowed, tool }) => isAllowed && tool.isListed).map(listedAs),
  };
}

function listedAs({ tool: { name }, described }: OfferedTool): ListToolsResult['tools'][number] {
  return {
    ...described,
    name,
    inputSchema: { type: 'object', ...described.inputSchema['~standard'].jsonSchema.input(JSON_SCHEMA) },
    outputSchema: described.outputSchema['~standard'].jsonSchema.output(JSON_SCHEMA),
  };
}

/** Those that a server needs. A request of the newer era over HTTP names its tool in a header, checked before this. */
export function neededTools({ byName }: OfferedTools, { era, requestInfo }: McpRequestContext): Iterable<OfferedTool> {
  if (era !== 'modern' || !requestInfo) return byName.values();
  if (requestInfo.headers.get('mcp-method') !== 'tools/call') return [];
  const named = byName.get(requestInfo.headers.get('mcp-name') ?? '');
  return named ? [named] : byName.values();
}
