// The resources of all servers of a caller, as one source: the first server that lists an address has it.
import type { ResourceTemplateType } from '@modelcontextprotocol/client';
import type { SourceResource, SourceResources, ToolSource } from 'pocket-agent';
import { type ResourceCaller, ServedResources } from 'pocket-agent/internal/gate';
import type { GatewayRequest } from './request.ts';

/** The resources that the caller of a request may list and read. */
export function resourcesFor({ space, run }: GatewayRequest): ServedResources {
  const { agent, policy } = run;
  const owner = { name: agent.name, agentId: agent.agentId, approve: policy.approve };
  return new ServedResources(owner, space.rules, [joined(space.servers)]);
}

function joined(servers: readonly ToolSource[]): ToolSource {
  const all = servers.flatMap(({ resources }) => resources ?? []);
  const lists = async () => (await Promise.all(all.map((each) => each.list()))).flat();
  const resources: SourceResources = {
    list: lists,
    templates: async () => (await Promise.all(all.map((each) => each.templates()))).flat(),
    async find(uri): Promise<SourceResource | undefined> {
      const listed = (await lists()).find(({ resource }) => resource.uri === uri);
      if (listed) return listed;
      // a template of one server does not take what another one lists
      for (const each of all) {
        const found = await each.find(uri);
        if (found) return found;
      }
      return undefined;
    },
  };
  const callTool = () => Promise.reject(new Error('This source has resources only.'));
  return { name: 'resources', hasOwnSchemas: true, listTools: () => [], callTool, resources };
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
