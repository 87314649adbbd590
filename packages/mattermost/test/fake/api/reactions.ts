// Reactions to posts.

import { type Call, created, done, idField, ok, text } from '../http/call.ts';
import type { Routes } from '../http/routes.ts';
import { ApiError, forbidden, invalidBody, notFound } from '../world/api-error.ts';
import type { Reaction } from '../world/model.ts';

/** The standard emoji that tests use. */
const knownEmoji = ['+1', '-1', 'eyes', 'heart', 'octagonal_sign', 'rocket', 'stop_sign', 'tada', 'thumbsup', 'wave'];

function mayReact(call: Call, postId: string): string {
  const post = call.world.post(postId);
  const channel = call.world.channel(post.channel_id);
  if (!call.world.member(channel.id, call.user.id)) throw forbidden('add_reaction');
  if (channel.delete_at) {
    throw new ApiError(403, 'api.reaction.save.archived_channel.app_error', {
      message: 'You cannot react in an archived channel.',
    });
  }
  return channel.id;
}

function add(call: Call): Reaction {
  const { world, user } = call;
  const body = call.fields('reaction');
  const userId = idField(body, 'user_id');
  const postId = idField(body, 'post_id');
  const emoji = text(body, 'emoji_name');
  if (!/^[a-zA-Z0-9_+-]{1,64}$/.test(emoji)) throw invalidBody('reaction');
  if (userId !== user.id) throw forbidden('add_reaction');
  const channelId = mayReact(call, postId);
  if (world.atLeast(9, 3) && !knownEmoji.includes(emoji.toLowerCase())) {
    throw notFound('app.emoji.get_by_name.no_result', 'Unable to get the emoji.');
  }
  const known = world.reactions.find(
    (other) => other.user_id === userId && other.post_id === postId && other.emoji_name === emoji,
  );
  if (known) return known;
  const reaction = { user_id: userId, post_id: postId, emoji_name: emoji, create_at: world.now() };
  world.reactions.push(reaction);
  world.lastPostTimes.delete(channelId);
  world.post(postId).update_at = world.now();
  world.publish('reaction_added', { reaction: JSON.stringify(reaction) }, { channel_id: channelId });
  return reaction;
}

/** Idempotent: a missing reaction is not an error. */
function remove(call: Call): void {
  const { world } = call;
  const user = call.self();
  const postId = call.param('post_id');
  const channelId = mayReact(call, postId);
  const index = world.reactions.findIndex(
    (other) => other.user_id === user.id && other.post_id === postId && other.emoji_name === call.param('emoji_name'),
  );
  const [reaction] = index === -1 ? [] : world.reactions.splice(index, 1);
  if (!reaction) return;
  world.post(postId).update_at = world.now();
  world.publish('reaction_removed', { reaction: JSON.stringify(reaction) }, { channel_id: channelId });
}

export const reactionRoutes: Routes = {
  'POST /reactions': (call) => created(add(call)),
  'GET /posts/{post_id}/reactions': (call) => {
    const post = call.world.post(call.param('post_id'));
    call.world.readable(call.user, post.channel_id);
    const reactions = call.world.reactions.filter(({ post_id }) => post_id === post.id);
    // old servers return null for an empty list
    return ok(reactions.length === 0 && !call.world.atLeast(7) ? null : reactions);
  },
  'DELETE /users/{user_id}/posts/{post_id}/reactions/{emoji_name}': (call) => {
    remove(call);
    return done;
  },
};
