// Many tools on several MCP servers, for tests of tool search.
import { type Capability, type FunctionTool, type McpServerEntry, tool } from 'pocket-agent';
import { scriptedServer } from 'pocket-agent/testing';

const things =
  'invoice customer calendar repository branch ticket message channel photo song recipe train flight hotel'.split(' ');
const actions: [string, string, Capability][] = [
  ['create', 'Creates a new', 'create'],
  ['list', 'Lists every', 'read'],
  ['update', 'Changes fields of one', 'write'],
  ['delete', 'Removes one', 'delete'],
];

/** `create_invoice`, `list_invoice`, …: 56 tools with about 200 tokens each. */
export function manyTools(): FunctionTool[] {
  return things.flatMap((thing) => actions.map((action) => thingTool(thing, action)));
}

function thingTool(thing: string, [action, text, capability]: [string, string, Capability]): FunctionTool {
  return tool({
    name: `${action}_${thing}`,
    description: `${text} ${thing}. ${`It needs the id of the ${thing} unless there is only one. `.repeat(8)}`,
    capability,
    inputSchema: { type: 'object', properties: { id: { type: 'string', description: `Which ${thing}` } } },
    run: ({ id }) => `${action} ${thing} ${id}`,
  });
}

/** The tools on one server each for read, write, create and delete. */
export async function manyServers(): Promise<Record<string, McpServerEntry>> {
  const groups = Object.groupBy(manyTools(), ({ definition }) => definition.name.split('_')[0] ?? '');
  const entries = Object.entries(groups).map(async ([name, tools = []]): Promise<[string, McpServerEntry]> => {
    return [name, { server: await scriptedServer(tools, name) }];
  });
  return Object.fromEntries(await Promise.all(entries));
}
