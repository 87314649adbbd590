// Acknowledgements of posts (version 7.7, licensed), and reminders (version 7.2).
import { type Call, done, number, ok } from '../http/call.ts';
import type { Routes } from '../http/routes.ts';
import { ApiError, forbidden, invalidBody, notFound, unlicensed } from '../world/api-error.ts';
import type { Acknowledgement, Post } from '../world/model.ts';

const DEADLINE_MS = 5 * 60_000;

/** An unknown post gives 403, as in the real server. */
function readable(call: Call): Post {
  const { world } = call;
  const post = world.posts.get(call.param('post_id'));
  if (!post || post.delete_at) throw forbidden('read_channel_content');
  world.readable(call.user, post.channel_id);
  return post;
}

function licensed(call: Call): void {
  // the real error of this call has no translated id
  if (!call.world.options.licensed) throw unlicensed('<untranslated>');
}

function acknowledge(call: Call): Acknowledgement {
  const { world } = call;
  const user = call.self();
  const post = readable(call);
  if (world.channel(post.channel_id).delete_at) {
    throw new ApiError(403, 'api.acknowledgement.save.archived_channel.app_error', {
      message: 'You cannot save an acknowledgment in an archived channel.',
    });
  }
  const known = world.acknowledgements.find((one) => one.post_id === post.id && one.user_id === user.id);
  if (known) return known;
  const made = { post_id: post.id, user_id: user.id, acknowledged_at: world.now() };
  world.acknowledgements.push(made);
  return made;
}

function takeBack(call: Call): void {
  const { world } = call;
  const user = call.self();
  const post = readable(call);
  const index = world.acknowledgements.findIndex((one) => one.post_id === post.id && one.user_id === user.id);
  const known = world.acknowledgements[index];
  if (!known) throw notFound('app.acknowledgement.get.app_error', 'Unable to get acknowledgement.');
  if (world.now() - known.acknowledged_at > DEADLINE_MS) {
    throw new ApiError(403, 'api.acknowledgement.delete.deadline.app_error', {
      message: 'You cannot delete an acknowledgment after 5min have passed.',
    });
  }
  world.acknowledgements.splice(index, 1);
}

export const acknowledgementRoutes: Routes = {
  'POST /users/{user_id}/posts/{post_id}/ack': (call) => {
    licensed(call);
    return ok(acknowledge(call));
  },
  'DELETE /users/{user_id}/posts/{post_id}/ack': (call) => {
    licensed(call);
    takeBack(call);
    return done;
  },
};

export const reminderRoutes: Routes = {
  'POST /users/{user_id}/posts/{post_id}/reminder': (call) => {
    const { world } = call;
    const user = call.self();
    const post = readable(call);
    const target = number(call.fields('target_time'), 'target_time');
    if (target === undefined) throw invalidBody('target_time');
    world.reminders.push({ post_id: post.id, user_id: user.id, target_time: target });
    return done;
  },
};
