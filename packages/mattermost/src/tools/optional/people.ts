// Tools of the group `people`: user groups, which mentions such as @developers name.
import { z } from 'zod';
import { path } from '../../client/path.ts';
import type { GroupRecord, UserRecord } from '../../client/records.ts';
import { type Compact, omitEmpty } from '../base/compact.ts';
import { pageEnd, readPage } from '../base/paging.ts';
import { presentUsers } from '../base/present.ts';
import { full, id, page, pageOf, perPage, record } from '../base/schemas.ts';
import { defineTool } from '../base/tool.ts';
import { explainUnsupported } from '../base/unsupported.ts';

const group = 'people';
const USER_GROUPS = { what: 'user groups', version: '6.3', license: 'a Professional license' };

export const peopleTools = [
  defineTool({
    name: 'list_user_groups',
    title: 'List user groups',
    description: 'List the user groups of the server, optionally by part of a name. Mention one as @name.',
    capability: 'read',
    effect: 'read',
    tags: ['user'],
    group,
    input: { term: z.string().min(1).max(64).optional(), page: page(), per_page: perPage(), full: full() },
    output: pageOf('groups', record('id', 'name', 'display_name', 'description', 'members')),
    async run({ term, page, per_page, full }, { api }) {
      const { items, isTruncated } = await readPage({
        page,
        per_page,
        read: (page, per_page) =>
          explainUnsupported(
            USER_GROUPS,
            api.list<GroupRecord>('/groups', {
              ...{ q: term, page, per_page },
              include_member_count: true,
              filter_allow_reference: true,
            }),
          ),
      });
      return { groups: full ? items : items.map(compactGroup), ...pageEnd({ isTruncated }, { page: page + 1 }) };
    },
  }),
  defineTool({
    name: 'list_user_group_members',
    title: 'List group members',
    description: 'List the members of a user group.',
    capability: 'read',
    effect: 'read',
    tags: ['user'],
    group,
    input: { group_id: id(), page: page(), per_page: perPage(), full: full() },
    output: pageOf('members', record('id', 'username', 'name', 'nickname', 'email'), { total: { type: 'integer' } }),
    async run({ group_id, page, per_page, full }, context) {
      const { members, total_member_count: total } = await explainUnsupported(
        USER_GROUPS,
        context.api.get<{ members?: UserRecord[] | null; total_member_count?: number }>(
          path`/groups/${group_id}/members`,
          { page, per_page },
        ),
      );
      const isTruncated = (page + 1) * per_page < (total ?? 0);
      return {
        members: presentUsers(context, members ?? [], full),
        ...(total === undefined ? {} : { total }),
        ...pageEnd({ isTruncated }, { page: page + 1 }),
      };
    },
  }),
];

function compactGroup({ id, name, display_name, description, source, member_count }: GroupRecord): Compact {
  return omitEmpty({ id, name, display_name, description, source, members: member_count });
}
