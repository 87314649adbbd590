// The tool search_files.
import { z } from 'zod';
import type { ToolContext } from '../../account/account.ts';
import { path } from '../../client/path.ts';
import type { FileListRecord, FileRecord } from '../../client/records.ts';
import { type Compact, compactFile, isoTime, omitEmpty } from '../base/compact.ts';
import { full, page, pageOf, perPage, record } from '../base/schemas.ts';
import { searchTeam } from '../base/team-search.ts';
import { defineTool } from '../base/tool.ts';

export const fileSearchTools = [
  defineTool({
    name: 'search_files',
    title: 'Search files',
    description:
      'Search the files of a team by name and, if the server indexes it, content, newest first. terms supports "a phrase", from:name, in:channel, ext:pdf, before:/after:/on:2026-01-31, -word and word*.',
    capability: 'read',
    effect: 'read',
    tags: ['file'],
    hasTeam: true,
    input: {
      terms: z.string().min(1).max(512),
      is_or_search: z.boolean().default(false).describe('Match any word instead of all'),
      page: page(),
      per_page: perPage(),
      full: full(),
    },
    output: pageOf('files', record('id', 'name', 'size', 'mime_type', 'time', 'user', 'channel', 'post_id'), {
      note: {},
    }),
    async run({ team_id, terms, is_or_search, page, per_page, full }, context) {
      const team = await context.team(team_id);
      const { items, end } = await searchTeam<FileRecord>(context, {
        ...{ team, terms, is_or_search, page, per_page },
        channelOf: ({ channel_id }) => channel_id,
        async read(body) {
          const list = await context.api.query<FileListRecord>(path`/teams/${team}/files/search`, body);
          return (list.order ?? []).flatMap((id) => list.file_infos?.[id] ?? []);
        },
      });
      return { files: full ? items : await presentFiles(context, items), ...end };
    },
  }),
];

async function presentFiles({ names }: ToolContext, files: readonly FileRecord[]): Promise<Compact[]> {
  const [users, channels] = await Promise.all([
    names.users(files.map(({ user_id }) => user_id)),
    names.labels(files.map(({ channel_id }) => channel_id)),
  ]);
  return files.map((file) => ({
    ...compactFile(file),
    ...omitEmpty({
      time: isoTime(file.create_at),
      user: users.get(file.user_id ?? ''),
      channel: channels.get(file.channel_id ?? ''),
    }),
  }));
}
