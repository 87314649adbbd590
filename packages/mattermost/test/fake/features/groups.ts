// User groups (licensed).
import { userJson } from '../api/users.ts';
import { type Call, ok } from '../http/call.ts';
import type { Routes } from '../http/routes.ts';
import { notFound, unlicensed } from '../world/api-error.ts';
import type { Group } from '../world/model.ts';
import type { World } from '../world/world.ts';

export function storeGroup(
  world: World,
  { name, displayName, members }: { name: string; displayName: string; members: string[] },
): Group {
  const now = world.now();
  const group: Group = {
    ...{ id: world.newId(), name, display_name: displayName, description: '', source: 'custom', members },
    ...{ create_at: now, update_at: now, delete_at: 0 },
  };
  world.groups.set(group.id, group);
  return group;
}

function licensed({ world }: Call): void {
  if (!world.options.licensed) throw unlicensed('api.license_error');
}

function groupJson({ members, ...group }: Group, withCount: boolean): Record<string, unknown> {
  return {
    ...group,
    remote_id: null,
    has_syncables: false,
    allow_reference: true,
    ...(withCount ? { member_count: members.length } : {}),
  };
}

export const groupRoutes: Routes = {
  'GET /groups': (call) => {
    licensed(call);
    const term = (call.query.get('q') ?? '').toLowerCase();
    const found = [...call.world.groups.values()]
      .filter(({ name, display_name }) => `${name} ${display_name}`.toLowerCase().includes(term))
      .sort((a, b) => (a.display_name < b.display_name ? -1 : 1));
    return ok(call.page(found).map((group) => groupJson(group, call.flag('include_member_count'))));
  },
  'GET /groups/{group_id}/members': (call) => {
    licensed(call);
    const { world } = call;
    const group = world.groups.get(call.param('group_id'));
    if (!group) throw notFound('app.group.no_rows', 'no matching group found');
    const members = group.members.map((id) => userJson(world, world.user(id), call.user));
    return ok({ members: call.page(members), total_member_count: members.length });
  },
};
