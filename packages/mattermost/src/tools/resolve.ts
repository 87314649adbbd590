// The tool resolve: turns a name, id or link into ids. Never creates anything.
import { z } from 'zod';
import type { ToolContext } from '../account/account.ts';
import { isMattermostError, MattermostError } from '../base/errors.ts';
import { isId } from '../client/id.ts';
import { path } from '../client/path.ts';
import type { ChannelRecord, PostRecord, TeamRecord, UserRecord } from '../client/records.ts';
import { omitEmpty } from './base/compact.ts';
import { readMyTeams } from './base/my-channels.ts';
import { presentChannel, presentPost, presentUsers } from './base/present.ts';
import { id, record } from './base/schemas.ts';
import { defineTool } from './base/tool.ts';
import { findChannels, isNamed } from './channels/channel-search.ts';

export const resolveTools = [
  defineTool({
    name: 'resolve',
    title: 'Resolve a reference',
    description:
      'Get ids for a reference: #channel, ~channel, team/channel, a display name (also of an archived channel), @username or @"Full Name" (includes the direct channel, if it exists), a bare id, or a permalink or other URL of this Mattermost server.',
    capability: 'read',
    effect: 'read',
    tags: ['channel', 'user', 'post', 'team'],
    input: { reference: z.string().min(1).max(1000), team_id: id().optional() },
    output: record(
      'kind',
      'channel_id',
      'user_id',
      'post_id',
      'team_id',
      'direct_channel_id',
      'channel',
      'user',
      'post',
      'team',
    ),
    async run({ team_id, reference }, context) {
      const text = reference.trim();
      if (/^https?:\/\//i.test(text)) return resolveUrl(context, text);
      if (text.startsWith('@')) return resolveUser(context, text.slice(1), team_id);
      if (isId(text)) return resolveId(context, text);
      const name = text.replace(/^[#~]/, '');
      const [, team, channel] = /^([\w.-]+)\/([\w.-]+)$/.exec(name) ?? [];
      const found = team && channel ? await orUndefined(resolveIn(context, team, channel)) : undefined;
      // a slash may also be part of a display name
      return found ?? resolveChannel(context, name, team_id);
    },
  }),
];

async function resolveUrl(context: ToolContext, text: string): Promise<object> {
  const url = URL.parse(text);
  const ownUrls = [context.config.url, context.config.oauth?.mattermostPublicUrl].flatMap((one) => one ?? []);
  const base = ownUrls
    .map((one) => new URL(one))
    .find((one) => url?.host === one.host && url.pathname.startsWith(one.pathname));
  if (!url || !base) throw invalid(`"${text.slice(0, 200)}" is not a URL of this Mattermost server (${ownUrls[0]})`);
  const parts = url.pathname.slice(base.pathname.replace(/\/$/, '').length).split('/').filter(Boolean).map(decode);
  const [team = '', kind, name] = parts;
  if (kind === 'pl' && name && isId(name)) return resolvePost(context, name);
  if (kind === 'channels' && name) return resolveIn(context, team, name);
  if (kind === 'messages' && name?.startsWith('@'))
    return resolveUser(context, name.slice(1), (await findTeam(context, team)).id);
  if (kind === 'messages' && name) return resolveIn(context, team, name);
  if (kind === undefined && team) return resolveTeam(context, team);
  throw invalid(`"${text.slice(0, 200)}" does not lead to a channel, user, message or team`);
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Ids do not tell what they belong to. Mattermost reports ids of other kinds as missing, older versions as forbidden. */
async function resolveId(context: ToolContext, id: string): Promise<object> {
  const channel = await orUndefined(context.names.channel(id));
  if (channel) return presentResolved(context, channel);
  const post = await orUndefined(context.api.get<PostRecord>(path`/posts/${id}`));
  if (post) return resolvePost(context, id);
  const user = await orUndefined(context.api.get<UserRecord>(path`/users/${id}`));
  if (user) return presentPerson(context, user, undefined);
  const team = await orUndefined(context.names.team(id));
  if (team) return resolveTeam(context, id);
  throw notFound(`${id} is no channel, message, user or team that this account can see`);
}

async function resolvePost(context: ToolContext, id: string): Promise<object> {
  await context.policy.requirePost(id, 'read');
  const post = await context.api.get<PostRecord>(path`/posts/${id}`);
  const presented = await presentPost(context, post, false);
  return {
    kind: 'post',
    ...omitEmpty({ post_id: post.id, channel_id: post.channel_id, root_id: post.root_id }),
    post: presented,
  };
}

async function resolveTeam(context: ToolContext, name: string): Promise<object> {
  const team = await findTeam(context, name);
  await context.policy.requireTeam(team.id, 'read');
  return { kind: 'team', team_id: team.id, team: omitEmpty({ name: team.name, display_name: team.display_name }) };
}

async function resolveIn(context: ToolContext, team: string, channel: string): Promise<object> {
  return presentResolved(context, await findChannel(context, (await findTeam(context, team)).id, channel));
}

/** Searches the given team, otherwise the default team, otherwise all teams of this account. */
async function resolveChannel(context: ToolContext, name: string, teamId: string | undefined): Promise<object> {
  const hasTeam = teamId !== undefined || context.config.defaultTeam !== undefined;
  const teams = hasTeam ? [await context.team(teamId)] : (await readMyTeams(context)).map(({ id }) => id);
  const found = await Promise.all(teams.map((team) => orUndefined(findChannel(context, team, name))));
  const byName = [...new Map(found.flatMap((one) => one ?? []).map((one) => [one.id, one])).values()];
  const channels = byName.length > 0 ? byName : await findByDisplayName(context, teams, name);
  const [first] = channels;
  if (!first) throw notFound(`no channel "${name}" in ${hasTeam ? 'the team' : 'any team of this account'}`);
  context.names.rememberChannels(channels);
  const readable = await context.policy.filterReadable(channels, ({ id }) => id);
  if (readable.length > 1) throw ambiguous(name, readable);
  return presentResolved(context, readable[0] ?? first);
}

/** An archived channel counts only if no other one has the name. */
async function findByDisplayName(
  context: ToolContext,
  teams: readonly string[],
  name: string,
): Promise<ChannelRecord[]> {
  const found = await Promise.all(teams.map((team) => findChannels(context, team, name)));
  const named = found.flat().filter((channel) => isNamed(channel, name));
  const open = named.filter(({ delete_at }) => !delete_at);
  return open.length > 0 ? open : named;
}

async function resolveUser(context: ToolContext, name: string, teamId: string | undefined): Promise<object> {
  const fullName = name.replace(/^"(.*)"$/, '$1').trim();
  const isUsername = /^[A-Za-z0-9._-]+$/.test(name);
  const byName = isUsername
    ? await context.api.get<UserRecord>(path`/users/username/${name.toLowerCase()}`).catch(onlyMissing)
    : undefined;
  return presentPerson(context, byName ?? (await findByFullName(context, fullName)), teamId);
}

async function findByFullName({ api }: ToolContext, name: string): Promise<UserRecord> {
  if (/^\.{0,2}$/.test(name)) throw invalid(`"${name}" is not a name or id`);
  // Mattermost compares each word with the start of one name, so one word finds a full name
  const found = await api.queryList<UserRecord>('/users/search', { term: name.split(/\s+/)[0], limit: 1000 });
  const people = found.filter(({ first_name, last_name, nickname }) =>
    [`${first_name} ${last_name}`, nickname].some((one) => one?.trim().toLowerCase() === name.toLowerCase()),
  );
  const [first, second] = people;
  if (!first) throw new MattermostError('NOT_FOUND', `Resource not found: no user "${name}". Use search_users.`);
  if (!second) return first;
  throw invalid(`"${name}" is the name of several users: ${people.map(({ username }) => `@${username}`).join(', ')}`);
}

async function presentPerson(context: ToolContext, user: UserRecord, teamId: string | undefined): Promise<object> {
  const me = await context.names.me();
  const [presented = {}] = presentUsers(context, [user], false);
  const direct = await findDirect(context, [me.id, user.id].sort().join('__'), teamId);
  return { kind: 'user', user_id: user.id, ...omitEmpty({ direct_channel_id: direct }), user: presented };
}

/** Every team lists the direct channels, so one team is enough. */
async function findDirect(
  { api, policy }: ToolContext,
  name: string,
  teamId: string | undefined,
): Promise<string | undefined> {
  const [team] = teamId ? [teamId] : (await api.list<TeamRecord>('/users/me/teams')).map(({ id }) => id);
  if (team === undefined) return undefined;
  const channels = await api.list<ChannelRecord>(path`/users/me/teams/${team}/channels`);
  const direct = channels.filter((channel) => channel.type === 'D' && channel.name === name);
  return (await policy.filterReadable(direct, ({ id }) => id))[0]?.id;
}

async function presentResolved(context: ToolContext, channel: ChannelRecord): Promise<object> {
  await context.policy.requireChannelRecord(channel, 'read');
  const presented = await presentChannel(context, channel, false);
  return { kind: 'channel', channel_id: channel.id, ...omitEmpty({ team_id: channel.team_id }), channel: presented };
}

function findTeam({ names }: ToolContext, name: string): Promise<TeamRecord> {
  return isId(name) ? names.team(name) : names.teamByName(name.toLowerCase());
}

function findChannel({ api }: ToolContext, team: string, name: string): Promise<ChannelRecord> {
  return isId(name)
    ? api.get(path`/channels/${name}`)
    : api.get(path`/teams/${team}/channels/name/${name.toLowerCase()}`, { include_deleted: true });
}

async function orUndefined<Value>(value: Promise<Value>): Promise<Value | undefined> {
  try {
    return await value;
  } catch (error) {
    if (isMattermostError(error, 'CLIENT_ERROR')) return undefined;
    return onlyMissing(error);
  }
}

function onlyMissing(error: unknown): undefined {
  if (isMattermostError(error, 'NOT_FOUND')) return undefined;
  throw error;
}

function ambiguous(name: string, channels: readonly ChannelRecord[]): MattermostError {
  const teams = new Set(channels.map(({ team_id }) => team_id));
  if (teams.size > 1) return invalid(`"${name}" exists in several teams (${[...teams].join(', ')}); set team_id`);
  return invalid(
    `"${name}" is the display name of several channels: ${channels.map((one) => `#${one.name}`).join(', ')}`,
  );
}

function invalid(text: string): MattermostError {
  return new MattermostError('ARGUMENTS_INVALID', `${text}.`);
}

function notFound(text: string): MattermostError {
  return new MattermostError('NOT_FOUND', `Resource not found: ${text}. Use list_my_channels or list_public_channels.`);
}
