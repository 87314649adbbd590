// Long lists as MCP resources with pages, for clients that read them without a model: members, public channels.
import {
  type McpServer,
  type ReadResourceResult,
  ResourceTemplate,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { ToolContext } from '../account/account.ts';
import { MattermostError } from '../base/errors.ts';
import { objectOf } from '../base/json.ts';
import { isId } from '../client/id.ts';
import { MAX_PAGE_SIZE } from '../tools/base/paging.ts';
import type { Tool } from '../tools/base/tool.ts';
import { channelMemberTools } from '../tools/channels/channel-members.ts';
import { channelTools } from '../tools/channels/channels.ts';
import { teamTools } from '../tools/teams.ts';

interface ListResource {
  name: string;
  title: string;
  description: string;
  /** The variables are arguments of the tool. */
  template: string;
  /** The tool that reads a page. */
  tool: string;
}

const lists: readonly ListResource[] = [
  {
    name: 'team-channels',
    title: 'Public channels of a team',
    description: `${MAX_PAGE_SIZE} public channels of a team; pages count from 0, next is the URI of the next page`,
    template: 'mattermost://team/{team_id}/channels/{page}',
    tool: 'list_public_channels',
  },
  {
    name: 'team-members',
    title: 'Members of a team',
    description: `${MAX_PAGE_SIZE} members of a team; pages count from 0, next is the URI of the next page`,
    template: 'mattermost://team/{team_id}/members/{page}',
    tool: 'get_team_members',
  },
  {
    name: 'channel-members',
    title: 'Members of a channel',
    description: `${MAX_PAGE_SIZE} members of a channel; pages count from 0, next is the URI of the next page`,
    template: 'mattermost://channel/{channel_id}/members/{page}',
    tool: 'get_channel_members',
  },
];

const tools: readonly Tool[] = [...channelTools, ...channelMemberTools, ...teamTools];

/** Runs `read` with the account of a request. */
export type ReadAs = (
  context: ServerContext,
  read: (context: ToolContext) => Promise<ReadResourceResult>,
) => Promise<ReadResourceResult>;

export function registerListResources(server: McpServer, readAs: ReadAs): void {
  for (const { name, title, description, template, tool } of lists) {
    const info = { title, description, mimeType: 'application/json' };
    server.registerResource(
      name,
      new ResourceTemplate(template, { list: undefined }),
      info,
      (uri, variables, context) =>
        readAs(context, (toolContext) => readPage({ uri: uri.href, tool, variables }, toolContext)),
    );
  }
}

interface PageRequest {
  uri: string;
  tool: string;
  variables: Record<string, string | string[]>;
}

async function readPage({ uri, tool, variables }: PageRequest, context: ToolContext): Promise<ReadResourceResult> {
  const { page: pageText, ...ids } = variables;
  const page = Number(pageText);
  if (!/^\d{1,6}$/.test(String(pageText)) || !Object.values(ids).every((id) => isId(String(id)))) {
    const text = `"${uri.slice(0, 200)}" is not a resource of this server: it needs an id of 26 characters and a page from 0.`;
    throw new MattermostError('ARGUMENTS_INVALID', text);
  }
  const result = await tools
    .find(({ name }) => name === tool)
    ?.run({ ...ids, page, per_page: MAX_PAGE_SIZE, full: false }, context);
  const { truncated, next: _, ...content } = objectOf(result?.structuredContent);
  const next = truncated ? { next: uri.replace(/\d+$/, String(page + 1)) } : {};
  return { contents: [{ uri, mimeType: 'application/json', text: JSON.stringify({ ...content, page, ...next }) }] };
}
