// The tools available to a profile, described once, because the 2026 protocol creates a server per request.
import type { ListToolsResult, McpRequestContext } from '@modelcontextprotocol/server';
import { allows, type Profile } from '../base/access.ts';
import type { ToolGroup } from '../base/tool-groups.ts';
import type { MattermostConfig } from '../config/config.ts';
import { allTools } from '../tools/all.ts';
import type { Tool } from '../tools/base/tool.ts';

interface CatalogTool {
  tool: Tool;
  /** A tool outside the profile is not listed; calling it explains why it is refused. */
  isAllowed: boolean;
  described: Pick<Tool, 'title' | 'description' | 'annotations' | 'outputSchema'> & {
    inputSchema: ReturnType<Tool['inputSchema']>;
    _meta: Record<string, unknown>;
  };
}

export interface ToolCatalog {
  byName: ReadonlyMap<string, CatalogTool>;
  /** For clients that put every listed tool into the prompt. */
  listed: ListToolsResult['tools'];
  /** With the tools of all groups. */
  complete: ListToolsResult['tools'];
}

const JSON_SCHEMA = { target: 'draft-2020-12' } as const;

type CatalogConfig = Pick<MattermostConfig, 'defaultTeam' | 'toolGroups'>;

export function createToolCatalogs(config: CatalogConfig): (profile: Profile) => ToolCatalog {
  const catalogs = new Map<Profile, ToolCatalog>();
  return (profile) => {
    const catalog = catalogs.get(profile) ?? createCatalog(profile, config);
    catalogs.set(profile, catalog);
    return catalog;
  };
}

/** Whether a tool is listed to every client. */
export function isListed({ isListed, group }: Tool, groups: readonly ToolGroup[]): boolean {
  return isListed && (group === undefined || groups.includes(group));
}

function createCatalog(profile: Profile, { defaultTeam, toolGroups }: CatalogConfig): ToolCatalog {
  const tools = allTools.map((tool): CatalogTool => {
    const { title, description, annotations, outputSchema, meta } = tool;
    const inputSchema = tool.inputSchema(defaultTeam !== undefined);
    const described = { title, description, annotations, inputSchema, outputSchema, _meta: { ...meta } };
    return { tool, isAllowed: allows(profile, tool.capability), described };
  });
  const allowed = tools.filter(({ isAllowed, tool }) => isAllowed && tool.isListed);
  return {
    byName: new Map(tools.map((one) => [one.tool.name, one])),
    listed: allowed.filter(({ tool }) => isListed(tool, toolGroups)).map(toListedTool),
    complete: allowed.map(toListedTool),
  };
}

function toListedTool({ tool: { name }, described }: CatalogTool): ListToolsResult['tools'][number] {
  return {
    ...described,
    name,
    inputSchema: { type: 'object', ...described.inputSchema['~standard'].jsonSchema.input(JSON_SCHEMA) },
    outputSchema: described.outputSchema['~standard'].jsonSchema.output(JSON_SCHEMA),
  };
}

/** The tools a server must register. A 2026 request over HTTP names its tool in a header that was checked before. */
export function toolsForRequest(
  { byName }: ToolCatalog,
  { era, requestInfo }: McpRequestContext,
): Iterable<CatalogTool> {
  if (era !== 'modern' || !requestInfo) return byName.values();
  if (requestInfo.headers.get('mcp-method') !== 'tools/call') return [];
  const catalogTool = byName.get(requestInfo.headers.get('mcp-name') ?? '');
  return catalogTool ? [catalogTool] : byName.values();
}
