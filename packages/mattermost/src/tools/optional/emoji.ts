// Tools of the group `emoji`: custom emoji of the server.
import { z } from 'zod';
import type { ToolContext } from '../../account/account.ts';
import { MattermostError } from '../../base/errors.ts';
import { multipart } from '../../client/multipart.ts';
import { path } from '../../client/path.ts';
import type { EmojiRecord } from '../../client/records.ts';
import { type Compact, isoTime, omitEmpty } from '../base/compact.ts';
import { pageEnd, readPage } from '../base/paging.ts';
import { emojiName, page, pageOf, perPage, record } from '../base/schemas.ts';
import { defineTool } from '../base/tool.ts';
import { explainUnsupported } from '../base/unsupported.ts';
import { checkSource, sourceArguments, withSource } from '../files/file-source.ts';

const group = 'emoji';
const CUSTOM_EMOJI = { what: 'custom emoji' };
/** Mattermost returns no more results for a search. */
const SEARCH_LIMIT = 200;
/** Mattermost accepts requests of 512 KiB. */
const MAX_IMAGE_BYTES = 500_000;

const emoji = record('id', 'name', 'creator', 'time');

export const emojiTools = [
  defineTool({
    name: 'list_emoji',
    title: 'List custom emoji',
    description: 'List the custom emoji of the server by name, or those whose name contains a term.',
    capability: 'read',
    effect: 'read',
    tags: ['post'],
    group,
    input: { term: z.string().min(1).max(64).optional(), page: page(), per_page: perPage() },
    output: pageOf('emoji', emoji, { note: {} }),
    async run({ term, page, per_page }, context) {
      if (term !== undefined) return searchEmoji(context, term);
      const { items, isTruncated } = await readPage({
        page,
        per_page,
        read: (page, per_page) =>
          explainUnsupported(CUSTOM_EMOJI, context.api.list<EmojiRecord>('/emoji', { page, per_page, sort: 'name' })),
      });
      return { emoji: await presentEmoji(context, items), ...pageEnd({ isTruncated }, { page: page + 1 }) };
    },
  }),
  defineTool({
    name: 'create_emoji',
    title: 'Create custom emoji',
    description: 'Add a custom emoji to the server: a PNG, JPEG or GIF of at most 500 kB.',
    capability: 'create',
    effect: 'additive',
    tags: ['post', 'file'],
    group,
    input: { emoji_name: emojiName(), ...sourceArguments() },
    check: checkSource,
    output: emoji,
    async run({ emoji_name, ...source }, context) {
      const { id: creator_id } = await context.names.me();
      const name = withoutColons(emoji_name).toLowerCase();
      const created = await withSource(context, source, ({ name: filename, size, read }) => {
        if (size > MAX_IMAGE_BYTES) throw tooLargeImage(size);
        const fields = { emoji: JSON.stringify({ name, creator_id }) };
        const form = multipart(fields, { field: 'image', filename, size, open: read });
        return explainUnsupported(CUSTOM_EMOJI, context.api.upload<EmojiRecord>('/emoji', form));
      });
      const [presented = {}] = await presentEmoji(context, [created]);
      return presented;
    },
  }),
  defineTool({
    name: 'delete_emoji',
    title: 'Delete custom emoji',
    description: 'Delete a custom emoji for everyone.',
    capability: 'delete',
    effect: 'destructive',
    tags: ['post'],
    group,
    input: { emoji_name: emojiName() },
    output: record('emoji_name', 'ok'),
    async run({ emoji_name }, { api }) {
      const name = withoutColons(emoji_name);
      const found = await explainUnsupported(CUSTOM_EMOJI, api.get<EmojiRecord>(path`/emoji/name/${name}`));
      await api.delete(path`/emoji/${found.id}`);
      return { ok: true, emoji_name: name };
    },
  }),
];

async function searchEmoji(context: ToolContext, term: string): Promise<object> {
  const search = context.api.queryList<EmojiRecord>('/emoji/search', { term: withoutColons(term) });
  const found = await explainUnsupported(CUSTOM_EMOJI, search);
  const emoji = await presentEmoji(context, found);
  if (found.length < SEARCH_LIMIT) return { emoji, truncated: false };
  return { emoji, truncated: true, note: 'There may be more results: use a longer term.' };
}

async function presentEmoji({ names }: ToolContext, emoji: readonly EmojiRecord[]): Promise<Compact[]> {
  const users = await names.users(emoji.map(({ creator_id }) => creator_id));
  return emoji.map(({ id, name, creator_id, create_at }) =>
    omitEmpty({ id, name, creator: users.get(creator_id ?? ''), time: isoTime(create_at) }),
  );
}

function tooLargeImage(size: number): MattermostError {
  const text = `The image has ${size} bytes, but Mattermost accepts at most ${MAX_IMAGE_BYTES} for an emoji. Use a smaller one.`;
  return new MattermostError('TOO_LARGE', text);
}

function withoutColons(name: string): string {
  return name.replaceAll(':', '');
}
