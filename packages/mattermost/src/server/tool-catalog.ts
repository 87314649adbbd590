// The tools available to a profile, described once, because the 2026 protocol creates a server per request.
import type { ListToolsResult, McpRequestContext } from '@modelcontextprotocol/server';
import { allows, type Profile } from '../base/access.ts';
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
  listed: ListToolsResult['tools'];
}

const JSON_SCHEMA = { target: 'draft-2020-12' } as const;

export function createToolCatalogs(hasDefaultTeam: boolean): (profile: Profile) => ToolCatalog {
  const catalogs = new Map<Profile, ToolCatalog>();
  return (profile) => {
    const catalog = catalogs.get(profile) ?? createCatalog(profile, hasDefaultTeam);
    catalogs.set(profile, catalog);
    return catalog;
  };
}

function createCatalog(profile: Profile, hasDefaultTeam: boolean): ToolCatalog {
  const tools = allTools.map((tool): CatalogTool => {
    const { title, description, annotations, outputSchema, meta } = tool;
    const inputSchema = tool.inputSchema(hasDefaultTeam);
    const described = { title, description, annotations, inputSchema, outputSchema, _meta: { ...meta } };
    return { tool, isAllowed: allows(profile, tool.capability), described };
  });
  return {
    byName: new Map(tools.map((one) => [one.tool.name, one])),
    listed: tools.filter(({ isAllowed, tool }) => isAllowed && tool.isListed).map(toListedTool),
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
