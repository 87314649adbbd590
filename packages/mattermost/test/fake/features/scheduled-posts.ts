// Scheduled posts (version 10.3, licensed). Every change responds with 201.
import { type Call, created, type Fields, number, ok, text, texts } from '../http/call.ts';
import type { Routes } from '../http/routes.ts';
import { ApiError, forbidden, invalidUrl, notFound } from '../world/api-error.ts';
import type { ScheduledPost } from '../world/model.ts';
import type { World } from '../world/world.ts';

function refuse(id: string, message: string): ApiError {
  return new ApiError(400, id, { message });
}

/** Both are 400, unlike other features without a license. */
function enabled(world: World): void {
  if (world.isDisabled('scheduled_posts')) {
    throw refuse('api.scheduled_posts.feature_disabled', 'scheduled posts feature is disabled');
  }
  if (!world.options.licensed) {
    throw refuse('api.scheduled_posts.license_error', 'Scheduled posts feature requires a license');
  }
}

/** Unknown and hidden channels give the same error. */
function checkChannel(call: Call, channelId: string): void {
  const { world, user } = call;
  if (!world.channels.has(channelId) || !world.member(channelId, user.id)) throw forbidden('create_post');
  if (world.channel(channelId).delete_at) {
    throw refuse('app.save_scheduled_post.channel_deleted.app_error', 'Cannot schedule post in an archived channel.');
  }
}

function checkPost(message: string, fileIds: string[], scheduledAt: number): void {
  if (message === '' && fileIds.length === 0) {
    throw refuse(
      'model.scheduled_post.is_valid.empty_post.app_error',
      'Cannot schedule an empty post. Scheduled post must have at least a message or file attachments.',
    );
  }
  // five seconds of tolerance
  if (scheduledAt < Date.now() - 5000) {
    throw refuse('model.scheduled_post.is_valid.scheduled_at.app_error', 'Invalid scheduled at time.');
  }
}

function create(call: Call): ScheduledPost {
  const { world, user } = call;
  const body = call.fields('schedule_post');
  const channel_id = text(body, 'channel_id');
  checkChannel(call, channel_id);
  const now = world.now();
  const post: ScheduledPost = {
    id: world.newId(),
    create_at: now,
    update_at: now,
    user_id: user.id,
    channel_id,
    root_id: text(body, 'root_id'),
    props: {},
    ...contentOf(body),
    processed_at: 0,
    error_code: '',
  };
  world.scheduledPosts.set(post.id, post);
  return post;
}

type Content = Pick<ScheduledPost, 'message' | 'file_ids' | 'scheduled_at' | 'repeat_type' | 'repeat_timezone'>;

function contentOf(body: Fields): Content {
  const message = text(body, 'message');
  const file_ids = texts(body, 'file_ids') ?? [];
  const scheduled_at = number(body, 'scheduled_at') ?? 0;
  checkPost(message, file_ids, scheduled_at);
  const repeat = { repeat_type: text(body, 'repeat_type'), repeat_timezone: text(body, 'repeat_timezone') };
  return { message, file_ids, scheduled_at, ...repeat };
}

function own(call: Call, task: 'update' | 'delete'): ScheduledPost {
  const post = call.world.scheduledPosts.get(call.param('scheduled_post_id'));
  if (!post) {
    throw notFound(`app.${task}_scheduled_post.existing_scheduled_post.not_exist`, 'Scheduled post does not exist.');
  }
  if (post.user_id === call.user.id) return post;
  throw new ApiError(403, `app.${task}_scheduled_post.${task}_permission.error`, {
    message: `You do not have permission to ${task} this resource.`,
  });
}

/** The channel and the thread cannot be changed; other missing fields are emptied. */
function update(call: Call): ScheduledPost {
  const body = call.fields('schedule_post');
  if (text(body, 'id') !== call.param('scheduled_post_id')) throw invalidUrl('scheduled_post_id');
  const post = own(call, 'update');
  checkChannel(call, text(body, 'channel_id'));
  return Object.assign(post, contentOf(body), { update_at: call.world.now(), error_code: '', processed_at: 0 });
}

function listOf(call: Call, teamId: string): ScheduledPost[] {
  return [...call.world.scheduledPosts.values()].filter(
    ({ user_id, channel_id }) => user_id === call.user.id && call.world.channel(channel_id).team_id === teamId,
  );
}

/** Runs a handler if the feature is on. */
function whenEnabled(run: (call: Call) => ScheduledPost) {
  return (call: Call) => {
    enabled(call.world);
    return created(run(call));
  };
}

export const scheduledPostRoutes: Routes = {
  'POST /posts/schedule': whenEnabled(create),
  'PUT /posts/schedule/{scheduled_post_id}': whenEnabled(update),
  'DELETE /posts/schedule/{scheduled_post_id}': whenEnabled((call) => {
    const post = own(call, 'delete');
    call.world.scheduledPosts.delete(post.id);
    return post;
  }),
  'GET /posts/scheduled/team/{team_id}': (call) => {
    enabled(call.world);
    const team = call.world.teamFor(call.user, call.param('team_id'));
    return ok({
      [team.id]: listOf(call, team.id),
      ...(call.query.get('includeDirectChannels') === 'true' ? { directChannels: listOf(call, '') } : {}),
    });
  },
};
