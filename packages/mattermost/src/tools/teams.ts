// Tools for teams and their members.
import { path } from '../client/path.ts';
import type { MemberRecord, TeamRecord } from '../client/records.ts';
import { compactTeam } from './base/compact.ts';
import { readMyTeams } from './base/my-channels.ts';
import { pageEnd, readPage } from './base/paging.ts';
import { presentMembers } from './base/present.ts';
import { full, listOf, page, pageOf, perPage, record } from './base/schemas.ts';
import { defineTool } from './base/tool.ts';

const team = record('id', 'name', 'display_name', 'description', 'type');

export const teamTools = [
  defineTool({
    name: 'list_teams',
    title: 'List my teams',
    description: 'List the teams of this account.',
    capability: 'read',
    effect: 'read',
    tags: ['team'],
    input: { full: full() },
    output: listOf('teams', team),
    async run({ full }, context) {
      const teams = await readMyTeams(context);
      return { teams: teams.map((one) => (full ? one : compactTeam(one))) };
    },
  }),
  defineTool({
    name: 'get_team',
    title: 'Get team',
    description: 'Get a team by id.',
    capability: 'read',
    effect: 'read',
    tags: ['team'],
    hasTeam: true,
    input: { full: full() },
    output: team,
    async run({ team_id, full }, context) {
      const id = await context.team(team_id);
      await context.policy.requireTeam(id, 'read');
      const found = await context.api.get<TeamRecord>(path`/teams/${id}`);
      return full ? found : compactTeam(found);
    },
  }),
  defineTool({
    name: 'get_team_members',
    title: 'List team members',
    description: 'List the members of a team.',
    capability: 'read',
    effect: 'read',
    tags: ['team', 'user'],
    hasTeam: true,
    input: { page: page(), per_page: perPage(), full: full() },
    output: pageOf('members', record('user_id', 'username', 'roles', 'team_id')),
    async run({ team_id, page, per_page, full }, context) {
      const id = await context.team(team_id);
      await context.policy.requireTeam(id, 'read');
      const { items, isTruncated } = await readPage({
        page,
        per_page,
        read: (page, per_page) => context.api.list<MemberRecord>(path`/teams/${id}/members`, { page, per_page }),
      });
      return { members: await presentMembers(context, items, full), ...pageEnd({ isTruncated }, { page: page + 1 }) };
    },
  }),
];
