// Custom emoji.
import { type Call, done, isFields, ok, type Reply, text } from '../http/call.ts';
import type { Routes } from '../http/routes.ts';
import { ApiError, forbidden, invalidBody, notFound } from '../world/api-error.ts';
import type { Emoji } from '../world/model.ts';
import type { World } from '../world/world.ts';

const MAX_BYTES = 512 * 1024;
const SEARCH_LIMIT = 200;

export function storeEmoji(world: World, name: string, creatorId: string): Emoji {
  const now = world.now();
  const emoji = { id: world.newId(), creator_id: creatorId, name, create_at: now, update_at: now, delete_at: 0 };
  world.emoji.set(emoji.id, emoji);
  return emoji;
}

function refuse(id: string, message: string): ApiError {
  return new ApiError(400, id, { message });
}

function enabled({ world }: Call): void {
  if (!world.isDisabled('emoji')) return;
  throw new ApiError(501, 'api.emoji.disabled.app_error', {
    message: 'Custom emoji have been disabled by the system admin.',
  });
}

/** The image must be one; its content type is ignored. */
async function create(call: Call): Promise<Reply> {
  enabled(call);
  if (call.body.length > MAX_BYTES) {
    throw new ApiError(413, 'api.emoji.create.too_large.app_error', {
      message: 'Unable to create emoji. Image must be less than 512 KiB in size.',
    });
  }
  const contentType = String(call.headers['content-type'] ?? '');
  const form = await new Response(new Uint8Array(call.body), { headers: { 'content-type': contentType } })
    .formData()
    .catch(() => {
      throw refuse('api.emoji.create.parse.app_error', 'Unable to create emoji. Could not understand request.');
    });
  const given = fieldsOf(form.get('emoji'));
  const name = text(given, 'name');
  if (!/^[a-z0-9_+-]{1,64}$/.test(name)) {
    throw refuse('model.emoji.name.app_error', 'Name must be 1 to 64 lowercase alphanumeric characters.');
  }
  if (name === 'wave') {
    throw refuse('model.emoji.system_emoji_name.app_error', 'Name conflicts with existing system emoji name.');
  }
  if (text(given, 'creator_id') !== call.user.id) {
    throw new ApiError(403, 'api.emoji.create.other_user.app_error', { message: 'Invalid user id.' });
  }
  if (byName(call.world, name)) {
    throw refuse(
      'api.emoji.create.duplicate.app_error',
      'Unable to create emoji. Another emoji with the same name already exists.',
    );
  }
  const image = form.get('image');
  if (!image || typeof image === 'string') throw invalidBody('createEmoji');
  const bytes = Buffer.from(await image.arrayBuffer());
  if (!isImage(bytes)) {
    throw refuse('api.emoji.upload.image.app_error', 'Unable to create emoji. File must be a PNG, JPEG, or GIF.');
  }
  return ok(storeEmoji(call.world, name, call.user.id));
}

function fieldsOf(value: unknown): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(String(value));
    if (isFields(parsed)) return parsed;
  } catch {
    // reported below
  }
  throw invalidBody('emoji');
}

function isImage(bytes: Buffer): boolean {
  const start = bytes.subarray(0, 3).toString('latin1');
  return start === 'GIF' || start === '\x89PN' || start === '\xff\xd8\xff';
}

function byName(world: World, name: string): Emoji | undefined {
  return [...world.emoji.values()].find((emoji) => emoji.name === name);
}

function sorted(world: World): Emoji[] {
  return [...world.emoji.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

export const emojiRoutes: Routes = {
  'POST /emoji': create,
  'GET /emoji': (call) => {
    enabled(call);
    return ok(call.page(call.query.get('sort') === 'name' ? sorted(call.world) : [...call.world.emoji.values()]));
  },
  'POST /emoji/search': (call) => {
    enabled(call);
    const term = text(call.fields('term'), 'term');
    if (!term) throw invalidBody('term');
    return ok(
      sorted(call.world)
        .filter(({ name }) => name.includes(term))
        .slice(0, SEARCH_LIMIT),
    );
  },
  'GET /emoji/name/{emoji_name}': (call) => {
    enabled(call);
    const emoji = byName(call.world, call.param('emoji_name'));
    if (!emoji) throw notFound('app.emoji.get_by_name.no_result', 'We could not find that emoji.');
    return ok(emoji);
  },
  'DELETE /emoji/{emoji_id}': (call) => {
    const { world, user } = call;
    const emoji = world.emoji.get(call.param('emoji_id'));
    if (!emoji) throw notFound('app.emoji.get.no_result', 'We could not find that emoji.');
    if (emoji.creator_id !== user.id && !world.isAdmin(user)) throw forbidden('delete_others_emojis');
    world.emoji.delete(emoji.id);
    return done;
  },
};
