// People: this account, others, who is there.
import { z } from 'zod';
import type { ToolContext } from '../account/caller.ts';
import { path } from '../client/path.ts';
import type { StatusRecord, UserRecord } from '../client/records.ts';
import { tidy, time } from './base/compact.ts';
import { presentUsers } from './base/present.ts';
import { full, id, pageOf, record, username } from './base/schemas.ts';
import { defineTool } from './base/tool.ts';

/** As many as Mattermost gives unless told. */
const MOST_FOUND = 100;
const user = record('id', 'username', 'name', 'nickname', 'email', 'position', 'roles', 'bot', 'deleted');

export const userTools = [
  defineTool({
    name: 'get_me',
    title: 'Get my account',
    description: 'The account this server acts as.',
    capability: 'read',
    effect: 'read',
    tags: ['user'],
    input: { full: full() },
    output: user,
    run: async ({ full }, context) => presentUser(context, await context.api.get<UserRecord>('/users/me'), full),
  }),
  defineTool({
    name: 'get_user',
    title: 'Get user',
    description: 'A person by id.',
    capability: 'read',
    effect: 'read',
    tags: ['user'],
    input: { user_id: id(), full: full() },
    output: user,
    run: async ({ user_id, full }, context) =>
      presentUser(context, await context.api.get<UserRecord>(path`/users/${user_id}`), full),
  }),
  defineTool({
    name: 'get_user_by_username',
    title: 'Get user by name',
    description: 'A person by username.',
    capability: 'read',
    effect: 'read',
    tags: ['user'],
    input: { username: username(), full: full() },
    output: user,
    async run({ username, full }, context) {
      const name = username.replace(/^@/, '').toLowerCase();
      return presentUser(context, await context.api.get<UserRecord>(path`/users/username/${name}`), full);
    },
  }),
  defineTool({
    name: 'search_users',
    title: 'Search users',
    description: 'People by part of a username, name, nickname or email.',
    capability: 'read',
    effect: 'read',
    tags: ['user'],
    input: { term: z.string().min(1).max(256), team_id: id().optional().describe('Only members of it'), full: full() },
    output: pageOf('users', user, { note: {} }),
    async run({ term, team_id, full }, context) {
      if (team_id) await context.policy.requireTeam(team_id, 'read');
      const body = { term, limit: MOST_FOUND + 1, ...(team_id ? { team_id } : {}) };
      const found = await context.api.askList<UserRecord>('/users/search', body);
      const users = presentUsers(context, found.slice(0, MOST_FOUND), full);
      if (found.length <= MOST_FOUND) return { users, truncated: false };
      return { users, truncated: true, note: 'There are more: use a longer term.' };
    },
  }),
  defineTool({
    name: 'get_user_status',
    title: 'Get user status',
    description: 'Whether somebody is online, away, offline or not to be disturbed (dnd).',
    capability: 'read',
    effect: 'read',
    tags: ['user'],
    input: { user_id: id(), full: full() },
    output: record('user_id', 'status', 'manual', 'last_activity'),
    async run({ user_id, full }, { api, names }) {
      // Mattermost calls everybody offline whom it does not know
      if (!(await names.users([user_id])).has(user_id)) await api.get<UserRecord>(path`/users/${user_id}`);
      const found = await api.get<StatusRecord>(path`/users/${user_id}/status`);
      const { status, manual, last_activity_at } = found;
      return full ? found : tidy({ user_id: found.user_id, status, manual, last_activity: time(last_activity_at) });
    },
  }),
];

function presentUser(context: ToolContext, record: UserRecord, full: boolean): object {
  const [presented = {}] = presentUsers(context, [record], full);
  return presented;
}
