// Tools for users and their status.
import { z } from 'zod';
import type { ToolContext } from '../account/account.ts';
import { path } from '../client/path.ts';
import type { StatusRecord, UserRecord } from '../client/records.ts';
import { presentUsers } from './base/present.ts';
import { full, id, pageOf, record, username } from './base/schemas.ts';
import { presentStatus, status } from './base/status.ts';
import { defineTool } from './base/tool.ts';

/** Default limit of Mattermost. */
const MAX_USERS = 100;
const user = record('id', 'username', 'name', 'nickname', 'email', 'position', 'roles', 'bot', 'deleted');

export const userTools = [
  defineTool({
    name: 'get_me',
    title: 'Get my account',
    description: 'Get the account this server acts as.',
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
    description: 'Get a user by id.',
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
    description: 'Get a user by username.',
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
    description: 'Search users by part of a username, name, nickname or email.',
    capability: 'read',
    effect: 'read',
    tags: ['user'],
    input: {
      term: z.string().min(1).max(256),
      team_id: id().optional().describe('Only members of this team'),
      full: full(),
    },
    output: pageOf('users', user, { note: {} }),
    async run({ term, team_id, full }, context) {
      if (team_id) await context.policy.requireTeam(team_id, 'read');
      const body = { term, limit: MAX_USERS + 1, ...(team_id ? { team_id } : {}) };
      const found = await context.api.queryList<UserRecord>('/users/search', body);
      const users = presentUsers(context, found.slice(0, MAX_USERS), full);
      if (found.length <= MAX_USERS) return { users, truncated: false };
      return { users, truncated: true, note: 'There are more results: use a longer term.' };
    },
  }),
  defineTool({
    name: 'get_user_status',
    title: 'Get user status',
    description:
      'Get the status of a user, by default of this account: online, away, offline or dnd (do not disturb), and the custom status.',
    capability: 'read',
    effect: 'read',
    tags: ['user'],
    input: { user_id: id().optional(), full: full() },
    output: status,
    async run({ user_id, full }, context) {
      const user = user_id ?? (await context.names.me()).id;
      const presented = await presentStatus(context, user);
      return full ? context.api.get<StatusRecord>(path`/users/${user}/status`) : presented;
    },
  }),
];

function presentUser(context: ToolContext, record: UserRecord, full: boolean): object {
  const [presented = {}] = presentUsers(context, [record], full);
  return presented;
}
