// Channel bookmarks (9.5 or newer, with a license).

import { type Call, created, type Fields, ok, text } from '../http/call.ts';
import type { Handler, Routes } from '../http/routes.ts';
import { ApiError, forbidden, invalidBody, notFound } from '../world/api-error.ts';
import type { Bookmark } from '../world/model.ts';

function licensed(handler: Handler): Handler {
  return (call) => {
    if (call.world.options.licensed) return handler(call);
    throw new ApiError(403, 'api.channel.bookmark.channel_bookmark.license.error', {
      message: 'Your license does not support channel bookmarks.',
    });
  };
}

/** Readers of the channel can list bookmarks; members can change them. */
function channelId(call: Call, { write = false } = {}): string {
  const channel = call.world.readable(call.user, call.param('channel_id'));
  if (write && !call.world.member(channel.id, call.user.id)) throw forbidden('add_bookmark_public_channel');
  return channel.id;
}

function inOrder(call: Call, channel: string): Bookmark[] {
  return [...call.world.bookmarks.values()]
    .filter((bookmark) => bookmark.channel_id === channel)
    .sort((a, b) => a.sort_order - b.sort_order);
}

function bookmarkJson(call: Call, bookmark: Bookmark): Record<string, unknown> {
  const file = call.world.files.get(bookmark.file_id)?.info;
  return { ...bookmark, ...(file ? { file } : {}) };
}

function invalid(what: string): ApiError {
  return new ApiError(400, `model.channel_bookmark.is_valid.${what}.app_error`, { message: `Invalid ${what}.` });
}

function fill(call: Call, bookmark: Bookmark, body: Fields): Bookmark {
  bookmark.display_name = text(body, 'display_name', bookmark.display_name);
  bookmark.file_id = text(body, 'file_id', bookmark.file_id);
  for (const name of ['link_url', 'image_url', 'emoji'] as const) {
    const value = text(body, name, bookmark[name]);
    if (value) bookmark[name] = value;
  }
  if (!bookmark.display_name || [...bookmark.display_name].length > 64) throw invalid('display_name');
  if (bookmark.type === 'link' && !/^https?:\/\/./.test(bookmark.link_url ?? '')) throw invalid('link_url');
  if (bookmark.type === 'file' && !call.world.files.has(bookmark.file_id)) throw invalid('file_id');
  if (bookmark.type === 'file' && bookmark.link_url) throw invalid('link_file');
  return bookmark;
}

function create(call: Call): Bookmark {
  const { world, user } = call;
  const channel = channelId(call, { write: true });
  const body = call.fields('channelBookmark');
  const type = text(body, 'type');
  if (type !== 'link' && type !== 'file') throw invalid('type');
  const now = world.now();
  const known = inOrder(call, channel).filter((bookmark) => !bookmark.delete_at);
  const bookmark = fill(
    call,
    {
      id: world.newId(),
      create_at: now,
      update_at: now,
      delete_at: 0,
      channel_id: channel,
      owner_id: user.id,
      file_id: '',
      display_name: '',
      sort_order: known.length,
      type,
    },
    body,
  );
  world.bookmarks.set(bookmark.id, bookmark);
  tell(call, 'channel_bookmark_created', bookmark);
  return bookmark;
}

function existing(call: Call): Bookmark {
  const channel = channelId(call, { write: true });
  const bookmark = call.world.bookmarks.get(call.param('bookmark_id'));
  if (!bookmark || bookmark.delete_at || bookmark.channel_id !== channel) {
    throw notFound('app.channel.bookmark.get_existing.app_err', 'Could not find the bookmark.');
  }
  return bookmark;
}

function tell(call: Call, event: string, bookmark: Bookmark): void {
  const data = { bookmark: JSON.stringify(bookmarkJson(call, bookmark)) };
  call.world.publish(event, data, { channel_id: bookmark.channel_id });
}

function sort(call: Call): Bookmark[] {
  const bookmark = existing(call);
  const wanted = call.json('channelBookmarkSortOrder');
  const all = inOrder(call, bookmark.channel_id).filter((other) => !other.delete_at);
  if (typeof wanted !== 'number' || !Number.isInteger(wanted)) throw invalidBody('channelBookmarkSortOrder');
  if (wanted < 0 || wanted >= all.length) throw invalid('sort_order');
  const others = all.filter((other) => other !== bookmark);
  others.splice(wanted, 0, bookmark);
  for (const [index, other] of others.entries()) {
    other.sort_order = index;
    other.update_at = call.world.now();
  }
  return others;
}

const path = '/channels/{channel_id}/bookmarks';

export const bookmarkRoutes: Routes = {
  [`GET ${path}`]: licensed((call) => {
    const since = call.query.get('bookmarks_since');
    if (since && !/^\d+$/.test(since)) throw invalidBody('bookmarks_since');
    const all = inOrder(call, channelId(call));
    const wanted = all.filter((bookmark) =>
      Number(since) > 0 ? bookmark.update_at >= Number(since) : !bookmark.delete_at,
    );
    return ok(wanted.map((bookmark) => bookmarkJson(call, bookmark)));
  }),
  [`POST ${path}`]: licensed((call) => created(bookmarkJson(call, create(call)))),
  [`PATCH ${path}/{bookmark_id}`]: licensed((call) => {
    const bookmark = existing(call);
    const changed = fill(call, { ...bookmark }, call.fields('channelBookmarkPatch'));
    changed.update_at = call.world.now();
    call.world.bookmarks.set(changed.id, changed);
    tell(call, 'channel_bookmark_updated', changed);
    return ok({ updated: bookmarkJson(call, changed) });
  }),
  [`DELETE ${path}/{bookmark_id}`]: licensed((call) => {
    const bookmark = existing(call);
    bookmark.delete_at = call.world.now();
    bookmark.update_at = bookmark.delete_at;
    tell(call, 'channel_bookmark_deleted', bookmark);
    return ok(bookmarkJson(call, bookmark));
  }),
  [`POST ${path}/{bookmark_id}/sort_order`]: licensed((call) =>
    ok(sort(call).map((bookmark) => bookmarkJson(call, bookmark))),
  ),
};
