// The resources of all servers of a caller, as one source: the first server that lists an address has it.
import type { ResourceTemplateType } from '@modelcontextprotocol/client';
import { neverAborted } from '@pocket-agent/kit';
import type { SourceResource, SourceResources, ToolSource } from 'pocket-agent';
import { inRun, type ResourceCaller, ServedResources } from 'pocket-agent/internal/gate';
import type { CallerSpace } from '../callers/caller-space.ts';
import type { RelayedResource } from '../callers/server.ts';
import type { GatewayRequest } from './request.ts';

/** Only MCP servers announce changes. */
type WatchableResource = SourceResource & Partial<RelayedResource>;

/** The resources that the caller of a request may list and read. */
export function resourcesFor({ space, run }: GatewayRequest): ServedResources {
  const { agent, policy } = run;
  const owner = { name: agent.name, agentId: agent.agentId, approve: policy.approve };
  const callTool = () => Promise.reject(new Error('This source has resources only.'));
  const source = { name: 'resources', hasOwnSchemas: true, listTools: () => [], callTool };
  return new ServedResources(owner, space.rules, [{ ...source, resources: joined(space.servers) }]);
}

/** A client of this caller watches a resource. Returns a function that stops this; undefined if there is no such resource for it. */
export async function watchResource(space: CallerSpace, uri: string): Promise<(() => void) | undefined> {
  const run = space.context({ signal: neverAborted() });
  return inRun(run, async () => {
    const found: WatchableResource | undefined = await joined(space.servers).find(uri);
    if (!found || run.policy.refusal(found.judged) !== undefined) return undefined;
    return found.watch ? found.watch(run) : () => {}; // other sources announce nothing
  });
}

function joined(servers: readonly ToolSource[]): SourceResources {
  const all = servers.flatMap(({ resources }) => resources ?? []);
  const lists = async () => (await Promise.all(all.map((each) => each.list()))).flat();
  return {
    list: lists,
    templates: async () => (await Promise.all(all.map((each) => each.templates()))).flat(),
    async find(uri): Promise<SourceResource | undefined> {
      const listed = (await lists()).find(({ resource }) => resource.uri === uri);
      if (listed) return listed;
      // only then templates: a server must not answer for a resource that another one lists
      for (const each of all) {
        const found = await each.find(uri);
        if (found) return found;
      }
      return undefined;
    },
  };
}

/** Templates of the caller's servers, except those that rules hide. */
export async function listTemplates({ space, run }: GatewayRequest): Promise<ResourceTemplateType[]> {
  const lists = space.servers.map(async ({ relay, resources }) => {
    if (!relay) return [...((await resources?.templates()) ?? [])];
    const listed = await relay.templates();
    return listed.flatMap(({ template, judged }) => (run.policy.refusal(judged) === undefined ? template : []));
  });
  return (await Promise.all(lists)).flat();
}

export function readerOf({ space, run }: GatewayRequest): ResourceCaller {
  return { profiles: [], caller: space.caller.name, signal: run.signal };
}
