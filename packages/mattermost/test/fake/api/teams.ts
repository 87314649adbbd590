// Teams and their members.

import { created, done, idField, ok } from '../http/call.ts';
import type { Routes } from '../http/routes.ts';
import { invalidBody, notFound } from '../world/api-error.ts';
import type { Team, TeamMember, User } from '../world/model.ts';
import type { World } from '../world/world.ts';

function teamJson(world: World, team: Team, viewer: User): Record<string, unknown> {
  const admin = world.isAdmin(viewer) || world.teamMember(team.id, viewer.id)?.scheme_admin;
  return {
    ...team,
    invite_id: admin ? team.invite_id : '',
    email: admin ? team.email : '',
    scheme_id: null,
    group_constrained: null,
    policy_id: null,
    ...(world.atLeast(7) ? { cloud_limits_archived: false } : {}),
  };
}

/** Adds a user to a team; idempotent. */
export function joinTeam(world: World, teamId: string, userId: string): TeamMember {
  const known = world.teamMember(teamId, userId);
  if (known) return known;
  const member = {
    team_id: teamId,
    user_id: userId,
    roles: 'team_user',
    delete_at: 0,
    scheme_user: true,
    scheme_admin: false,
  };
  world.teamMembers.push(member);
  return member;
}

function memberJson(world: World, member: TeamMember): Record<string, unknown> {
  return { ...member, scheme_guest: false, explicit_roles: '', ...(world.atLeast(8) ? { create_at: 0 } : {}) };
}

function teamsOf(world: World, userId: string): Team[] {
  return [...world.teams.values()].filter((team) => world.teamMember(team.id, userId));
}

export const teamRoutes: Routes = {
  'GET /teams': (call) => {
    const teams = [...call.world.teams.values()];
    const seen = teams.filter(
      (team) => call.world.isAdmin(call.user) || team.allow_open_invite || call.world.teamMember(team.id, call.user.id),
    );
    return ok(call.page(seen).map((team) => teamJson(call.world, team, call.user)));
  },
  'GET /users/{user_id}/teams': (call) =>
    ok(teamsOf(call.world, call.self().id).map((team) => teamJson(call.world, team, call.user))),
  'GET /teams/{team_id}': (call) => {
    const team = call.world.team(call.param('team_id'));
    if (!(team.allow_open_invite && team.type === 'O')) call.world.teamFor(call.user, team.id);
    return ok(teamJson(call.world, team, call.user));
  },
  'GET /teams/name/{team_name}': (call) => {
    const team = [...call.world.teams.values()].find(({ name }) => name === call.param('team_name'));
    if (!team) throw notFound('app.team.get_by_name.missing.app_error', 'Unable to find the existing team.');
    if (!(team.allow_open_invite && team.type === 'O')) call.world.teamFor(call.user, team.id);
    return ok(teamJson(call.world, team, call.user));
  },
  'GET /teams/{team_id}/members': (call) => {
    const team = call.world.teamFor(call.user, call.param('team_id'));
    const members = call.world.teamMembers.filter((member) => member.team_id === team.id && !member.delete_at);
    return ok(call.page(members).map((member) => memberJson(call.world, member)));
  },
  'GET /teams/{team_id}/members/{user_id}': (call) => {
    const team = call.world.teamFor(call.user, call.param('team_id'));
    const member = call.world.teamMember(team.id, call.param('user_id'));
    if (!member) throw notFound('app.team.get_member.missing.app_error', 'No team member found.');
    return ok(memberJson(call.world, member));
  },
  'POST /teams/{team_id}/members': (call) => {
    const team = call.world.teamFor(call.user, call.param('team_id'), 'add_user_to_team');
    const body = call.fields('team_member');
    if (body.team_id !== team.id) throw invalidBody('team_id');
    return created(memberJson(call.world, joinTeam(call.world, team.id, call.world.user(idField(body, 'user_id')).id)));
  },
  'DELETE /teams/{team_id}/members/{user_id}': (call) => {
    const member = call.world.teamMember(call.param('team_id'), call.self().id);
    if (!member) throw notFound('app.team.get_member.missing.app_error', 'No team member found.');
    member.delete_at = call.world.now();
    return done;
  },
  'GET /users/{user_id}/teams/members': (call) => {
    const user = call.self();
    const members = call.world.teamMembers.filter((member) => member.user_id === user.id && !member.delete_at);
    return ok(members.map((member) => memberJson(call.world, member)));
  },
  'GET /users/{user_id}/teams/unread': (call) =>
    ok(teamsOf(call.world, call.self().id).map((team) => teamUnread(call.world, team.id, call.param('user_id')))),
  'GET /users/{user_id}/teams/{team_id}/unread': (call) => {
    const team = call.world.teamFor(call.self(), call.param('team_id'));
    return ok(teamUnread(call.world, team.id, call.param('user_id')));
  },
};

function teamUnread(world: World, teamId: string, userId: string): Record<string, unknown> {
  const unread = { team_id: teamId, msg_count: 0, mention_count: 0, msg_count_root: 0, mention_count_root: 0 };
  for (const channel of world.channels.values()) {
    const member = world.member(channel.id, userId);
    if (!member || channel.team_id !== teamId || channel.delete_at) continue;
    unread.msg_count += channel.total_msg_count - member.msg_count;
    unread.msg_count_root += channel.total_msg_count_root - member.msg_count_root;
    unread.mention_count += member.mention_count;
    unread.mention_count_root += member.mention_count_root;
  }
  return unread;
}
