// Tools of the group `sidebar`: the categories that sort the channels of this account.
import { z } from 'zod';
import type { ToolContext } from '../../account/account.ts';
import { MattermostError } from '../../base/errors.ts';
import { path } from '../../client/path.ts';
import type { CategoryRecord } from '../../client/records.ts';
import { type Compact, omitEmpty } from '../base/compact.ts';
import { readMyChannels } from '../base/my-channels.ts';
import { id, listOf, record } from '../base/schemas.ts';
import { defineTool } from '../base/tool.ts';

const group = 'sidebar';
const tags = ['channel'];
const category = record('id', 'name', 'type', 'muted', 'collapsed', 'channels', 'channels_dropped');
const categoryName = () => z.string().trim().min(1).max(100);

export const sidebarTools = [
  defineTool({
    name: 'list_sidebar_categories',
    title: 'List sidebar categories',
    description: 'List the categories of the sidebar of this account in a team, with their channels.',
    capability: 'read',
    effect: 'read',
    tags,
    group,
    hasTeam: true,
    input: {},
    output: listOf('categories', category),
    async run({ team_id }, context) {
      const team = await context.team(team_id);
      await context.policy.requireTeamNotDenied(team);
      await readMyChannels(context, team); // remembers their names
      const categories = await readCategories(context, team);
      return { categories: await Promise.all(categories.map((one) => presentCategory(context, one))) };
    },
  }),
  defineTool({
    name: 'update_sidebar_category',
    title: 'Change sidebar category',
    description:
      'Move channels of this account into a category of its sidebar, or rename, mute or collapse it. An unknown category is created, except with new_name.',
    capability: 'write',
    effect: 'idempotent',
    tags,
    group,
    hasTeam: true,
    input: {
      category: categoryName().describe('Its name or id'),
      channel_ids: z.array(id()).max(200).default([]).describe('Moved to its top, from other categories'),
      new_name: categoryName().optional(),
      muted: z.boolean().optional(),
      collapsed: z.boolean().optional(),
    },
    output: category,
    async run({ team_id, category: name, channel_ids, new_name, muted, collapsed }, context) {
      const { api, names, policy } = context;
      const team = await context.team(team_id);
      await policy.requireTeamNotDenied(team);
      for (const channel of channel_ids) await policy.requireChannel(channel, 'read');
      const { id: user_id } = await names.me();
      const found = (await readCategories(context, team)).find(isCalled(name));
      // a repeated rename would create a second category
      if (!found && new_name !== undefined) throw unknownCategory(name);
      const base = found ?? { display_name: name, type: 'custom' };
      const body = {
        ...base,
        ...{ user_id, team_id: team, display_name: new_name ?? base.display_name },
        channel_ids: [...new Set([...channel_ids, ...(found?.channel_ids ?? [])])],
        ...(muted === undefined ? {} : { muted }),
        ...(collapsed === undefined ? {} : { collapsed }),
      };
      const list = path`/users/${user_id}/teams/${team}/channels/categories`;
      const saved = found
        ? await api.put<CategoryRecord>(list + path`/${found.id}`, body)
        : await api.post<CategoryRecord>(list, body);
      // Mattermost drops channels that the account has not joined
      const dropped = channel_ids.filter((channel) => !saved.channel_ids?.includes(channel));
      return { ...(await presentCategory(context, saved)), ...omitEmpty({ channels_dropped: dropped }) };
    },
  }),
  defineTool({
    name: 'delete_sidebar_category',
    title: 'Delete sidebar category',
    description: 'Delete a category of the sidebar of this account. Its channels return to the default categories.',
    capability: 'delete',
    effect: 'destructive',
    tags,
    group,
    hasTeam: true,
    input: { category: categoryName().describe('Its name or id') },
    output: record('category', 'ok'),
    async run({ team_id, category: name }, context) {
      const team = await context.team(team_id);
      await context.policy.requireTeamNotDenied(team);
      const found = (await readCategories(context, team)).find(isCalled(name));
      if (!found) throw unknownCategory(name);
      await context.api.delete(path`/users/me/teams/${team}/channels/categories/${found.id}`);
      return { ok: true, category: found.display_name };
    },
  }),
];

/** In the order of the sidebar. */
async function readCategories({ api }: ToolContext, team: string): Promise<CategoryRecord[]> {
  const { categories, order } = await api.get<{ categories?: CategoryRecord[] | null; order?: string[] | null }>(
    path`/users/me/teams/${team}/channels/categories`,
  );
  const position = ({ id }: CategoryRecord) => order?.indexOf(id) ?? 0;
  return (categories ?? []).sort((one, other) => position(one) - position(other));
}

function unknownCategory(name: string): MattermostError {
  const text = `Resource not found: no category "${name}" in the sidebar. Get valid names from list_sidebar_categories.`;
  return new MattermostError('NOT_FOUND', text);
}

function isCalled(name: string): (category: CategoryRecord) => boolean {
  return ({ id, display_name }) => id === name || display_name?.toLowerCase() === name.toLowerCase();
}

async function presentCategory({ names, policy }: ToolContext, one: CategoryRecord): Promise<Compact> {
  const readable = await policy.filterReadable(one.channel_ids ?? [], (channel) => channel);
  const labels = await names.labels(readable);
  const { id, display_name: name, type, muted, collapsed } = one;
  const channels = readable.map((channel) => omitEmpty({ id: channel, name: labels.get(channel) }));
  return { ...omitEmpty({ id, name, type, muted, collapsed }), channels };
}
