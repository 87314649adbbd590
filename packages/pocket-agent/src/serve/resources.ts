// Serves resources over MCP: resources/list, resources/templates/list and resources/read. Those of skills are also served by
// the MCP extension for skills: skills/list and skills/get.
import {
  type InputRequiredResult,
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  type ResourceTemplateType,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { isPublicError } from '@pocket-agent/kit';
import { z } from 'zod';
import type { SkillEntry, SourceResource } from '../tools/tool-source.ts';

/** Resources under the rules of a caller. */
export interface ResourceService<Caller> {
  list(caller: Caller): Promise<readonly SourceResource[]>;
  templates(caller: Caller): Promise<readonly ResourceTemplateType[]>;
  /** Undefined if there is no such resource for this caller. */
  read(uri: string, caller: Caller): Promise<ReadResourceResult | InputRequiredResult | undefined>;
}

const SKILLS_EXTENSION = 'io.modelcontextprotocol/skills';
/** Every file of a skill is read for its digest. */
const SKILLS_PER_PAGE = 20;
/** From this protocol version on, lists say how long they may be cached; the version is a date. */
const CACHEABLE_SINCE = '2026-07-28';
const notCached = { ttlMs: 0, cacheScope: 'private' } as const;

export function serveResources<Caller>(
  server: Server,
  resources: ResourceService<Caller>,
  callerOf: (context: ServerContext) => Caller,
): void {
  server.registerCapabilities({ resources: {}, extensions: { [SKILLS_EXTENSION]: {} } });
  server.setRequestHandler('resources/list', async (_request, context) => ({
    resources: (await resources.list(callerOf(context))).map(({ resource }) => resource),
  }));
  server.setRequestHandler('resources/templates/list', async (_request, context) => ({
    resourceTemplates: [...(await resources.templates(callerOf(context)))],
  }));
  server.setRequestHandler('resources/read', async ({ params: { uri } }, context) => {
    const contents = await resources.read(uri, callerOf(context)).catch((error: unknown) => {
      if (error instanceof ProtocolError) throw error; // for the client
      const reason = isPublicError(error) ? error.message : 'it cannot be read.';
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Resource ${uri}: ${reason}`);
    });
    if (contents) return contents;
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Resource ${uri} not found`);
  });
  const caching = () => ((server.getNegotiatedProtocolVersion() ?? '') >= CACHEABLE_SINCE ? notCached : {});
  const listParams = z.object({ cursor: z.string().optional() });
  server.setRequestHandler('skills/list', { params: listParams }, async ({ cursor }, context) => {
    const all = (await resources.list(callerOf(context))).filter(({ skill }) => skill);
    return { ...(await pageOfSkills(all, cursor)), ...caching() };
  });
  server.setRequestHandler('skills/get', { params: z.object({ uri: z.string() }) }, async ({ uri }, context) => {
    const found = (await resources.list(callerOf(context))).find(({ resource }) => resource.uri === uri);
    const skill = await found?.skill?.();
    if (skill) return { skill, ...caching() };
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no skill ${uri}`);
  });
}

/** The cursor is the URI of the last skill of the page before. */
async function pageOfSkills(
  all: readonly SourceResource[],
  cursor: string | undefined,
): Promise<{ skills: SkillEntry[]; nextCursor?: string }> {
  const start = all.findIndex(({ resource }) => resource.uri === cursor) + 1;
  if (cursor !== undefined && start === 0)
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no page after ${cursor}: list the skills again`);
  const page = all.slice(start, start + SKILLS_PER_PAGE);
  const skills: SkillEntry[] = [];
  for (const { skill } of page) {
    const entry = await skill?.();
    if (entry) skills.push(entry);
  }
  const last = page.at(-1);
  return { skills, ...(last && last !== all.at(-1) ? { nextCursor: last.resource.uri } : {}) };
}
