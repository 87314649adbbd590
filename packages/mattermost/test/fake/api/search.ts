// Post search: words, phrases, exclusions and the modifiers from, in, before, after, on.

import { bool, type Call, number, ok, text } from '../http/call.ts';
import type { Routes } from '../http/routes.ts';
import { invalidBody } from '../world/api-error.ts';
import type { Channel, Post } from '../world/model.ts';
import { postListJson } from '../world/post-json.ts';
import type { World } from '../world/world.ts';

type Test = (post: Post, channel: Channel) => boolean;

interface Query {
  words: Test[];
  /** All conditions must match. */
  limits: Test[];
}

const dayMs = 86_400_000;

export function parseTerms(world: World, terms: string, zoneSeconds: number): Query {
  const query: Query = { words: [], limits: [] };
  const froms: Test[] = [];
  const ins: Test[] = [];
  for (const [, minus, modifier, value = '', phrase, word = ''] of terms.matchAll(
    /(-?)(?:(from|in|channel|before|after|on):\s*(\S+)|"([^"]*)"|(\S+))/gi,
  )) {
    const not = minus === '-';
    if (modifier) {
      const test = limit(world, { modifier: modifier.toLowerCase(), value, zoneSeconds });
      if (not) query.limits.push((post, channel) => !test(post, channel));
      else if (/^from$/i.test(modifier)) froms.push(test);
      else if (/^(in|channel)$/i.test(modifier)) ins.push(test);
      else query.limits.push(test);
    } else if (phrase !== undefined || word) {
      const test = phrase === undefined ? contains(word) : containsPhrase(phrase);
      if (not) query.limits.push((post, channel) => !test(post, channel));
      else query.words.push(test);
    }
  }
  // several users or channels are alternatives
  for (const tests of [froms, ins]) {
    if (tests.length > 0) query.limits.push((post, channel) => tests.some((test) => test(post, channel)));
  }
  return query;
}

function limit(world: World, given: { modifier: string; value: string; zoneSeconds: number }): Test {
  if (given.modifier === 'from') {
    // not stripped: no username starts with @
    return (post) => world.users.get(post.user_id)?.username === given.value.toLowerCase();
  }
  const value = given.value.replace(/^[@~]/, '').toLowerCase();
  if (given.modifier === 'in' || given.modifier === 'channel') {
    return (_, channel) =>
      channel.name === value ||
      channel.id === value ||
      (channel.type === 'D' &&
        world.membersOf(channel.id).some((member) => world.user(member.user_id).username === value));
  }
  const day = Date.parse(`${given.value}T00:00:00Z`) - given.zoneSeconds * 1000;
  if (given.modifier === 'before') return (post) => post.create_at < day;
  if (given.modifier === 'after') return (post) => post.create_at >= day + dayMs;
  return (post) => post.create_at >= day && post.create_at < day + dayMs;
}

/** Matches whole words; `word*` matches a prefix. */
function contains(word: string): Test {
  const wanted = word.toLowerCase().replace(/^[^\p{L}\p{N}#@*]+|[^\p{L}\p{N}*]+$/gu, '');
  const start = wanted.endsWith('*') ? wanted.slice(0, -1) : undefined;
  return (post) => {
    const words = post.message.toLowerCase().match(/[#@]?[\p{L}\p{N}_][\p{L}\p{N}_.-]*/gu) ?? [];
    return words.some((found) => {
      const bare = found.replace(/[.-]+$/, '');
      return start === undefined ? bare === wanted || bare === `@${wanted}` : bare.startsWith(start);
    });
  };
}

function containsPhrase(phrase: string): Test {
  return (post) => post.message.toLowerCase().includes(phrase.toLowerCase());
}

function search(call: Call, teamId: string | undefined): Record<string, unknown> {
  const { world, user } = call;
  if (teamId) world.teamFor(user, teamId);
  const body = call.fields('search');
  const terms = text(body, 'terms').trim();
  if (!terms) throw invalidBody('terms');
  const query = parseTerms(world, terms, number(body, 'time_zone_offset') ?? 0);
  const either = bool(body, 'is_or_search') ?? false;
  const channels = [...world.channels.values()]
    .filter((channel) => world.member(channel.id, user.id))
    .filter((channel) => !teamId || !channel.team_id || channel.team_id === teamId)
    .filter((channel) => !channel.delete_at || bool(body, 'include_deleted_channels'));
  const found = channels.flatMap((channel) =>
    (world.timeline.get(channel.id) ?? []).filter((post) => {
      if (post.delete_at || post.type.startsWith('system_')) return false;
      if (!query.limits.every((test) => test(post, channel))) return false;
      if (query.words.length === 0) return query.limits.length > 0;
      return either
        ? query.words.some((test) => test(post, channel))
        : query.words.every((test) => test(post, channel));
    }),
  );
  found.sort((a, b) => b.create_at - a.create_at);
  return { ...postListJson(world, { order: pageOf(world, found, body) }), matches: null };
}

function pageOf(world: World, found: Post[], body: Record<string, unknown>): Post[] {
  const page = number(body, 'page') ?? 0;
  const perPage = number(body, 'per_page') ?? 60;
  if (world.options.searchEngine === 'database') return page > 0 ? [] : found.slice(0, 100);
  return found.slice(page * perPage, (page + 1) * perPage);
}

export const searchRoutes: Routes = {
  'POST /teams/{team_id}/posts/search': (call) => ok(search(call, call.param('team_id'))),
  'POST /posts/search': (call) => ok(search(call, undefined)),
};
