// File search: the terms of the post search apply to the name and the text of a file; `ext:` to its extension.
import { parseTerms } from '../api/search.ts';
import { bool, type Call, number, ok, text } from '../http/call.ts';
import type { Routes } from '../http/routes.ts';
import { invalidBody } from '../world/api-error.ts';
import type { FileInfo, Post } from '../world/model.ts';

function search(call: Call): Record<string, unknown> {
  const { world, user } = call;
  const team = world.teamFor(user, call.param('team_id'));
  const body = call.fields('search');
  const given = text(body, 'terms').trim();
  if (!given) throw invalidBody('terms');
  const extensions = [...given.matchAll(/(?:^|\s)ext:\s*(\S+)/gi)].map(([, extension = '']) => extension.toLowerCase());
  const query = parseTerms(world, given.replace(/(^|\s)ext:\s*\S+/gi, ''), number(body, 'time_zone_offset') ?? 0);
  const isFound = (info: FileInfo, content: Buffer): boolean => {
    const post = world.posts.get(info.post_id);
    const channel = post && world.channel(post.channel_id);
    if (!post || post.delete_at || !channel || !world.member(channel.id, user.id)) return false;
    if (channel.team_id && channel.team_id !== team.id) return false;
    if (channel.delete_at && !bool(body, 'include_deleted_channels')) return false;
    if (extensions.length > 0 && !extensions.includes(info.extension)) return false;
    const asPost: Post = {
      ...post,
      user_id: info.user_id,
      message: `${info.name} ${info.name.replace(/\W/g, ' ')} ${content.toString('utf8')}`,
    };
    if (!query.limits.every((test) => test(asPost, channel))) return false;
    const isAny = bool(body, 'is_or_search') ?? false;
    const words = query.words.map((test) => test(asPost, channel));
    return words.length === 0 || (isAny ? words.some(Boolean) : words.every(Boolean));
  };
  const found = [...world.files.values()]
    .filter(({ info, content }) => isFound(info, content))
    .map(({ info }) => info)
    .sort((a, b) => b.create_at - a.create_at);
  const page = number(body, 'page') ?? 0;
  const perPage = number(body, 'per_page') ?? 60;
  // a database search returns one page of at most 100 files
  const isDatabase = world.options.searchEngine === 'database';
  const infos = isDatabase ? (page > 0 ? [] : found.slice(0, 100)) : found.slice(page * perPage, (page + 1) * perPage);
  return {
    order: infos.map(({ id }) => id),
    file_infos: Object.fromEntries(infos.map((info) => [info.id, info])),
    next_file_info_id: '',
    prev_file_info_id: '',
    first_inaccessible_file_time: 0,
  };
}

export const fileSearchRoutes: Routes = {
  'POST /teams/{team_id}/files/search': (call) => ok(search(call)),
};
