// Changes of channels: texts, archive, restore.
import { byName, channelJson, checkTexts } from '../api/channels.ts';
import { type Call, done, ok, text } from '../http/call.ts';
import type { Routes } from '../http/routes.ts';
import { ApiError, forbidden } from '../world/api-error.ts';
import type { Channel } from '../world/model.ts';

function refuse(id: string, message: string): ApiError {
  return new ApiError(400, id, { message });
}

function patch(call: Call): Channel {
  const { world, user } = call;
  const channel = world.channel(call.param('channel_id'));
  const body = call.fields('channel');
  const fields = ['name', 'display_name', 'header', 'purpose'].filter((name) => typeof body[name] === 'string');
  if (fields.length === 0)
    throw refuse('api.channel.patch_update_channel.no_changes.app_error', 'No changes in the patch.');
  const isConversation = channel.type === 'D' || channel.type === 'G';
  if (!world.isIn(user, channel) && (isConversation || !world.isAdmin(user))) {
    throw isConversation
      ? new ApiError(403, 'api.channel.patch_update_channel.forbidden.app_error', {
          message: 'Failed to update the channel.',
        })
      : forbidden(channel.type === 'O' ? 'manage_public_channel_properties' : 'manage_private_channel_properties');
  }
  if (isConversation && fields.some((name) => name !== 'header')) {
    throw refuse(
      'api.channel.patch_update_channel.update_direct_or_group_messages_not_allowed.app_error',
      'You are not allowed to update the name, display_name, and purpose of direct or group messages.',
    );
  }
  checkTexts(body);
  const name = text(body, 'name', channel.name);
  if (channel.name === 'town-square' && name !== channel.name) {
    throw refuse(
      'api.channel.update_channel.tried.app_error',
      'Tried to perform an invalid update of the default channel town-square.',
    );
  }
  if (name !== channel.name && byName(world, channel.team_id, name)) {
    throw refuse('store.sql_channel.update.exists.app_error', 'A channel with that handle already exists.');
  }
  channel.name = name;
  channel.display_name = text(body, 'display_name', channel.display_name);
  channel.header = text(body, 'header', channel.header);
  channel.purpose = text(body, 'purpose', channel.purpose);
  channel.update_at = world.now();
  const data = { channel: JSON.stringify(channelJson(world, channel)) };
  world.publish('channel_updated', data, { channel_id: channel.id });
  return channel;
}

function archive(call: Call): void {
  const { world, user } = call;
  const channel = world.channel(call.param('channel_id'));
  if (channel.type === 'D' || channel.type === 'G') {
    throw refuse('api.channel.delete_channel.type.invalid', 'Unable to delete direct or group message channels');
  }
  if (!world.isIn(user, channel) && !world.isAdmin(user)) {
    throw forbidden(channel.type === 'O' ? 'delete_public_channel' : 'delete_private_channel');
  }
  if (channel.delete_at) {
    throw refuse('api.channel.delete_channel.deleted.app_error', 'The channel has been archived or deleted.');
  }
  if (channel.name === 'town-square') {
    throw refuse('api.channel.delete_channel.cannot.app_error', 'Unable to delete the default channel town-square.');
  }
  channel.delete_at = world.now();
  const data = { channel_id: channel.id, delete_at: channel.delete_at };
  world.publish('channel_deleted', data, { team_id: channel.team_id });
}

/** Needs a team administrator. */
function restore(call: Call): Channel {
  const { world, user } = call;
  const channel = world.channel(call.param('channel_id'));
  const isTeamAdmin = world.teamMember(channel.team_id, user.id)?.scheme_admin;
  if (!isTeamAdmin && !world.isAdmin(user)) throw forbidden('manage_team');
  if (!channel.delete_at) {
    throw refuse(
      'api.channel.restore_channel.restored.app_error',
      'Unable to unarchive channel. The channel is not archived.',
    );
  }
  channel.delete_at = 0;
  world.publish('channel_restored', { channel_id: channel.id }, { team_id: channel.team_id });
  return channel;
}

export const channelChangeRoutes: Routes = {
  'PUT /channels/{channel_id}/patch': (call) => ok(channelJson(call.world, patch(call))),
  'DELETE /channels/{channel_id}': (call) => {
    archive(call);
    return done;
  },
  'POST /channels/{channel_id}/restore': (call) => ok(channelJson(call.world, restore(call))),
};
