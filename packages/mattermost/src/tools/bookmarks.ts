// Tools for channel bookmarks (Mattermost 9.5 or newer).
import { z } from 'zod';
import { path } from '../client/path.ts';
import type { BookmarkRecord } from '../client/records.ts';
import { compactBookmark } from './base/compact.ts';
import { full, id, listOf, record } from './base/schemas.ts';
import { defineTool } from './base/tool.ts';
import { explainUnsupported } from './base/unsupported.ts';

const bookmark = record('id', 'channel_id', 'display_name', 'type', 'link_url', 'file_id', 'emoji', 'sort_order');
const BOOKMARKS = { what: 'channel bookmarks', version: '9.5', license: 'a license that includes them' };
const tags = ['bookmark', 'channel', 'entry-required'];
const displayName = () => z.string().min(1).max(255);
const url = () =>
  z
    .string()
    .max(2048)
    .regex(/^https?:\/\/\S+$/);

export const bookmarkTools = [
  defineTool({
    name: 'list_bookmarks',
    title: 'List bookmarks',
    description: 'List the links and files bookmarked at the top of a channel.',
    capability: 'read',
    effect: 'read',
    tags,
    input: {
      channel_id: id(),
      bookmarks_since: z
        .int()
        .min(0)
        .max(9_999_999_999_999)
        .optional()
        .describe('Only bookmarks changed or deleted after this time, in milliseconds'),
      full: full(),
    },
    output: listOf('bookmarks', bookmark),
    async run({ channel_id, bookmarks_since, full }, { api, policy }) {
      await policy.requireChannel(channel_id, 'read');
      const found = await explainUnsupported(
        BOOKMARKS,
        api.list<BookmarkRecord>(path`/channels/${channel_id}/bookmarks`, { bookmarks_since }),
      );
      return { bookmarks: found.map((one) => present(one, full)) };
    },
  }),
  defineTool({
    name: 'create_bookmark',
    title: 'Create bookmark',
    description: 'Bookmark a link (link_url) or an uploaded file (file_id) at the top of a channel.',
    capability: 'write',
    effect: 'additive',
    tags,
    input: {
      channel_id: id(),
      display_name: displayName(),
      bookmark_type: z.enum(['link', 'file']),
      link_url: url().optional(),
      file_id: id().optional(),
      emoji: z.string().max(64).optional(),
      image_url: url().optional(),
      full: full(),
    },
    check({ bookmark_type, link_url, file_id }) {
      if (bookmark_type === 'link') return link_url ? undefined : 'a link bookmark needs link_url';
      return file_id ? undefined : 'a file bookmark needs file_id';
    },
    output: bookmark,
    async run({ channel_id, bookmark_type: type, full, ...fields }, { api, policy }) {
      await policy.requireChannel(channel_id, 'write');
      if (fields.file_id) await policy.requireFile(fields.file_id, 'read');
      return present(
        await explainUnsupported(
          BOOKMARKS,
          api.post<BookmarkRecord>(path`/channels/${channel_id}/bookmarks`, { type, ...fields }),
        ),
        full,
      );
    },
  }),
  defineTool({
    name: 'update_bookmark',
    title: 'Edit bookmark',
    description: 'Change the given fields of a bookmark.',
    capability: 'write',
    effect: 'idempotent',
    tags,
    input: {
      channel_id: id(),
      bookmark_id: id(),
      display_name: displayName().optional(),
      link_url: url().optional(),
      image_url: url().optional(),
      emoji: z.string().max(64).optional(),
      full: full(),
    },
    check: ({ display_name, link_url, image_url, emoji }) =>
      [display_name, link_url, image_url, emoji].every((field) => field === undefined)
        ? 'nothing to change; set display_name, link_url, image_url or emoji'
        : undefined,
    output: bookmark,
    async run({ channel_id, bookmark_id, full, ...fields }, { api, policy }) {
      await explainUnsupported(BOOKMARKS, policy.requireBookmark(channel_id, bookmark_id, 'write'));
      const target = path`/channels/${channel_id}/bookmarks/${bookmark_id}`;
      const answer = await explainUnsupported(
        BOOKMARKS,
        api.patch<BookmarkRecord & { updated?: BookmarkRecord }>(target, fields),
      );
      return present(answer.updated ?? answer, full);
    },
  }),
  defineTool({
    name: 'delete_bookmark',
    title: 'Delete bookmark',
    description: 'Remove a bookmark from a channel.',
    capability: 'delete',
    effect: 'destructive',
    tags,
    input: { channel_id: id(), bookmark_id: id(), full: full() },
    output: bookmark,
    async run({ channel_id, bookmark_id, full }, { api, policy }) {
      await explainUnsupported(BOOKMARKS, policy.requireBookmark(channel_id, bookmark_id, 'write'));
      return present(
        await explainUnsupported(
          BOOKMARKS,
          api.delete<BookmarkRecord>(path`/channels/${channel_id}/bookmarks/${bookmark_id}`),
        ),
        full,
      );
    },
  }),
  defineTool({
    name: 'update_bookmark_sort_order',
    title: 'Move bookmark',
    description: 'Move a bookmark to a position, counted from 0. Returns all bookmarks in their new order.',
    capability: 'write',
    effect: 'idempotent',
    tags,
    input: { channel_id: id(), bookmark_id: id(), new_sort_order: z.int().min(0).max(1000), full: full() },
    output: listOf('bookmarks', bookmark),
    async run({ channel_id, bookmark_id, new_sort_order, full }, { api, policy }) {
      await explainUnsupported(BOOKMARKS, policy.requireBookmark(channel_id, bookmark_id, 'write'));
      const target = path`/channels/${channel_id}/bookmarks/${bookmark_id}/sort_order`;
      const moved = await explainUnsupported(BOOKMARKS, api.postList<BookmarkRecord>(target, new_sort_order));
      return { bookmarks: moved.map((one) => present(one, full)) };
    },
  }),
];

function present(record: BookmarkRecord, full: boolean): object {
  return full ? record : compactBookmark(record);
}
