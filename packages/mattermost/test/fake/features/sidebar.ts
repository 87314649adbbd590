// Sidebar categories: three default ones per user and team, and custom ones.
import { type Call, done, type Fields, ok, text, texts } from '../http/call.ts';
import type { Routes } from '../http/routes.ts';
import { ApiError, invalidBody, notFound } from '../world/api-error.ts';
import type { Category, Channel } from '../world/model.ts';

const defaults = [
  ['favorites', 'Favorites'],
  ['channels', 'Channels'],
  ['direct_messages', 'Direct Messages'],
] as const;

/** The categories of a user in a team, made on the first request. */
function categoriesOf(call: Call): Category[] {
  const { world } = call;
  const user = call.self();
  const team = world.teamFor(user, call.param('team_id'));
  const isOwn = ({ user_id, team_id }: Category) => user_id === user.id && team_id === team.id;
  if (!world.categories.some(isOwn)) {
    for (const [index, [type, display_name]] of defaults.entries()) {
      const id = `${type}_${user.id}_${team.id}`;
      const place = { user_id: user.id, team_id: team.id, sort_order: index * 10, sorting: '' };
      world.categories.push({ id, ...place, type, display_name, muted: false, collapsed: false, channel_ids: [] });
    }
  }
  return world.categories.filter(isOwn);
}

function joinedChannels(call: Call): Channel[] {
  const { world } = call;
  const user = call.self();
  return [...world.channels.values()].filter(
    (channel) => [call.param('team_id'), ''].includes(channel.team_id) && world.member(channel.id, user.id),
  );
}

/** Channels that are in no other category are in a default one. */
function categoryJson(call: Call, category: Category, all: Category[]): Record<string, unknown> {
  const placed = new Set(all.flatMap(({ channel_ids }) => channel_ids));
  const loose = joinedChannels(call).filter(({ id }) => !placed.has(id));
  const isConversation = ({ type }: Channel) => type === 'D' || type === 'G';
  const added =
    category.type === 'direct_messages'
      ? loose.filter(isConversation)
      : category.type === 'channels'
        ? loose.filter((channel) => !isConversation(channel))
        : [];
  return { ...category, channel_ids: [...category.channel_ids, ...added.map(({ id }) => id)] };
}

/** Channels that the user has not joined are dropped without an error. */
function channelsIn(call: Call, body: Fields): string[] {
  const joined = new Set(joinedChannels(call).map(({ id }) => id));
  return [...new Set(texts(body, 'channel_ids') ?? [])].filter((id) => joined.has(id));
}

/** A channel is in one category. */
function place(all: Category[], category: Category, channelIds: string[]): void {
  for (const other of all) other.channel_ids = other.channel_ids.filter((id) => !channelIds.includes(id));
  category.channel_ids = channelIds;
}

function bodyOf(call: Call): Fields {
  const body = call.fields('category');
  if (text(body, 'user_id') !== call.self().id || text(body, 'team_id') !== call.param('team_id')) {
    throw invalidBody('category');
  }
  return body;
}

function create(call: Call): Record<string, unknown> {
  const { world } = call;
  const body = bodyOf(call);
  const all = categoriesOf(call);
  const category: Category = {
    id: world.newId(),
    user_id: call.self().id,
    team_id: call.param('team_id'),
    sort_order: -world.categories.length,
    sorting: '',
    type: 'custom',
    display_name: text(body, 'display_name'),
    muted: body.muted === true,
    collapsed: body.collapsed === true,
    channel_ids: [],
  };
  world.categories.push(category);
  place(all, category, channelsIn(call, body));
  return categoryJson(call, category, categoriesOf(call));
}

/** Default categories keep their name. */
function update(call: Call): Record<string, unknown> {
  const body = bodyOf(call);
  const all = categoriesOf(call);
  const category = found(call, all);
  if (category.type === 'custom') category.display_name = text(body, 'display_name');
  category.muted = body.muted === true;
  category.collapsed = body.collapsed === true;
  if (category.type !== 'direct_messages') place(all, category, channelsIn(call, body));
  return categoryJson(call, category, all);
}

function found(call: Call, all: Category[]): Category {
  const category = all.find(({ id }) => id === call.param('category'));
  if (!category) throw notFound('app.channel.sidebar_categories.app_error', 'Failed to find the sidebar category.');
  return category;
}

const path = '/users/{user_id}/teams/{team_id}/channels/categories';

export const sidebarRoutes: Routes = {
  [`GET ${path}`]: (call) => {
    const all = categoriesOf(call).sort((a, b) => a.sort_order - b.sort_order);
    return ok({ categories: all.map((one) => categoryJson(call, one, all)), order: all.map(({ id }) => id) });
  },
  [`POST ${path}`]: (call) => ok(create(call)),
  [`PUT ${path}/{category}`]: (call) => ok(update(call)),
  [`DELETE ${path}/{category}`]: (call) => {
    const category = found(call, categoriesOf(call));
    if (category.type !== 'custom') {
      throw new ApiError(400, 'app.channel.sidebar_categories.app_error', {
        message: 'Failed to delete the sidebar category.',
      });
    }
    call.world.categories.splice(call.world.categories.indexOf(category), 1);
    return done;
  },
};
