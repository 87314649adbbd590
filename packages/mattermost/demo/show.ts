// Posts of the local Mattermost as lines of text.
import type { FakeMattermost } from '../test/fake/fake-mattermost.ts';
import { actionsOf } from '../test/fake/features/actions.ts';
import type { Channel, Post } from '../test/fake/world/model.ts';

/** A post as people see it. */
export interface ShownPost {
  author: string;
  isBot: boolean;
  isReply: boolean;
  text: string;
  priority: string;
  files: string[];
  /** Above the buttons. */
  note: string;
  buttons: string[];
}

export interface ShownChannel {
  name: string;
  posts: ShownPost[];
}

/** The posts of a channel, each thread together. */
export function channelOf(fake: FakeMattermost, channel: Channel): ShownChannel {
  const posts = postsIn(fake, channel);
  const threads = posts.filter(({ root_id }) => root_id === '');
  const ordered = threads.flatMap((root) => [root, ...posts.filter(({ root_id }) => root_id === root.id)]);
  return { name: channel.name, posts: ordered.map((post) => shown(fake, post)) };
}

/** Prints the posts of channels that are new or changed since the last time. */
export class Transcript {
  readonly #fake: FakeMattermost;
  readonly #print: (line: string) => void;
  readonly #printed = new Map<string, string>();

  constructor(fake: FakeMattermost, print: (line: string) => void) {
    this.#fake = fake;
    this.#print = print;
    for (const post of fake.world.posts.values()) this.#printed.set(post.id, lineOf(shown(fake, post)));
  }

  update(channel: Channel): void {
    for (const post of postsIn(this.#fake, channel)) {
      const line = lineOf(shown(this.#fake, post));
      const before = this.#printed.get(post.id);
      if (line === before) continue;
      this.#printed.set(post.id, line);
      const place = `~${channel.name}  `;
      const mark = before === undefined ? '' : '✎ ';
      this.#print(`${place}${mark}${line.replaceAll('\n', `\n${' '.repeat(place.length)}`)}`);
    }
  }
}

function postsIn(fake: FakeMattermost, channel: Channel): Post[] {
  const posts = fake.world.timeline.get(channel.id) ?? [];
  // an answer without text yet comes and goes too quickly to read
  return posts.filter(
    ({ type, delete_at, message }) => type === '' && delete_at === 0 && !message.startsWith(':hourglass'),
  );
}

function shown({ world }: FakeMattermost, post: Post): ShownPost {
  const author = world.user(post.user_id);
  const [attachment] = (post.props.attachments ?? []) as { text?: string }[];
  return {
    author: author.username,
    isBot: author.is_bot === true,
    isReply: post.root_id !== '',
    text: readable(post.message),
    priority: world.priorities.get(post.id)?.priority ?? '',
    files: post.file_ids.map((id) => world.files.get(id)?.info.name ?? id),
    note: readable(attachment?.text ?? ''),
    buttons: actionsOf(post).map(({ name }) => String(name)),
  };
}

function readable(markdown: string): string {
  return markdown
    .replaceAll('\u200b', '')
    .replace(/\\([_*])/g, '$1')
    .replaceAll(':+1:', '👍')
    .replaceAll(':-1:', '👎');
}

function lineOf({ author, isReply, text, priority, files, note, buttons }: ShownPost): string {
  const head = `${isReply ? '↳ ' : ''}${author}: ${priority ? `[${priority}] ` : ''}`;
  const parts = [text, ...files.map((name) => `📎 ${name}`), note, buttons.map((name) => `[${name}]`).join(' ')];
  const body = parts.filter((part) => part !== '').join('\n');
  return `${head}${body.replaceAll('\n', `\n${isReply ? '  ' : ''}`)}`;
}
