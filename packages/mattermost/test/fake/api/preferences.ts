// Preferences; saved posts have the category flagged_post.

import { type Call, done, isFields, ok, text } from '../http/call.ts';
import type { Routes } from '../http/routes.ts';
import { forbidden, invalidBody, notFound } from '../world/api-error.ts';
import type { Preference } from '../world/model.ts';

function given(call: Call): Preference[] {
  const user = call.self();
  const list = call.json('preferences');
  if (!Array.isArray(list) || list.length === 0 || list.length > 100) throw invalidBody('preferences');
  return list.map((item: unknown) => {
    if (!isFields(item)) throw invalidBody('preferences');
    const preference = {
      user_id: text(item, 'user_id'),
      category: text(item, 'category'),
      name: text(item, 'name'),
      value: text(item, 'value'),
    };
    if (preference.user_id !== user.id) throw forbidden('edit_other_users');
    if (!preference.category) throw invalidBody('preferences');
    if (preference.category === 'flagged_post') {
      const post = call.world.posts.get(preference.name);
      if (!post) throw invalidBody('preference.name');
      call.world.readable(user, post.channel_id);
    }
    return preference;
  });
}

function remove(call: Call, { user_id, category, name }: Preference): void {
  const all = call.world.preferences;
  const index = all.findIndex(
    (known) => known.user_id === user_id && known.category === category && known.name === name,
  );
  if (index !== -1) all.splice(index, 1);
}

function own(call: Call): Preference[] {
  const user = call.self();
  return call.world.preferences.filter(({ user_id }) => user_id === user.id);
}

function tell(call: Call, event: string, preferences: Preference[]): void {
  call.world.publish(event, { preferences: JSON.stringify(preferences) }, { user_id: call.param('user_id') });
}

export const preferenceRoutes: Routes = {
  'GET /users/{user_id}/preferences': (call) => ok(own(call)),
  'PUT /users/{user_id}/preferences': (call) => {
    const preferences = given(call);
    for (const preference of preferences) {
      remove(call, preference);
      call.world.preferences.push(preference);
    }
    tell(call, 'preferences_changed', preferences);
    return done;
  },
  'POST /users/{user_id}/preferences/delete': (call) => {
    const preferences = given(call);
    for (const preference of preferences) remove(call, preference);
    tell(call, 'preferences_deleted', preferences);
    return done;
  },
  'GET /users/{user_id}/preferences/{category}': (call) => {
    const found = own(call).filter(({ category }) => category === call.param('category'));
    if (found.length === 0) {
      throw notFound('api.preference.preferences_category.get.app_error', 'Unable to get user preferences.');
    }
    return ok(found);
  },
  'GET /users/{user_id}/preferences/{category}/name/{preference_name}': (call) => {
    const found = own(call).find(
      ({ category, name }) => category === call.param('category') && name === call.param('preference_name'),
    );
    if (!found) throw notFound('app.preference.get.app_error', 'An error occurred while finding preferences.');
    return ok(found);
  },
};
