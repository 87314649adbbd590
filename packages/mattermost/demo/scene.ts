// The scene of the demo: what an MCP client reads, and how a bot works with the people of a channel.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { storeFile } from '../test/fake/api/files.ts';
import { type FakeMattermost, startFakeMattermost } from '../test/fake/fake-mattermost.ts';
import { userOf } from '../test/fake/test-client.ts';
import type { Post } from '../test/fake/world/model.ts';
import { storePost } from '../test/fake/world/store-post.ts';
import { COMMAND_TOKEN, type RunningBot, showTools, startBot, startServer } from './programs.ts';
import { seed } from './seed.ts';
import { channelOf, type ShownChannel, Transcript } from './show.ts';

interface Stage {
  isFast: boolean;
  print(line: string): void;
}

const PATIENCE_MS = 60_000;
const LOG = `09:01:12 INFO  starting
09:01:13 ERROR cannot reach the database
09:01:43 ERROR cannot reach the database
09:02:13 ERROR cannot reach the database`;

/** Returns the channel at the moment when the bot asks for an approval. */
export async function playScene({ isFast, print }: Stage): Promise<{ channel: ShownChannel }> {
  const folder = await mkdtemp(join(tmpdir(), 'mattermost-demo-'));
  const fake = await startFakeMattermost({ seed });
  const server = await startServer(fake);
  const transcript = new Transcript(fake, print);
  const act = async (what: string) => {
    await new Promise((resolve) => setTimeout(resolve, isFast ? 0 : 1500));
    print(`\n— ${what}`);
  };
  const releases = fake.channel('releases');
  const seen = () => transcript.update(releases);
  let bot: RunningBot | undefined;
  try {
    print('A local Mattermost with ann, bob and cleo. ↳ is a reply in a thread, ✎ an edited message.');
    await act('Any MCP client acts as its user. Ann connects hers to the server:');
    await showTools({ url: server.url, token: fake.token('ann'), print });

    const programs = { fake, folder, url: server.url };
    bot = await startBot({ ...programs, port: '0' });
    await act('The bot answers mentions in a thread, with the same tools');
    const question = fake.say('ann', 'releases', '@helper what did I miss?');
    await answerTo(fake, question, 'One thing needs you');
    seen();

    await act('A call that changes something waits for the person who asked, also while the bot is restarted');
    fake.say('ann', 'releases', '@helper then announce 2.4, please', { root: question.id });
    const asking = await answerTo(fake, question, 'may I use');
    seen();
    const channel = channelOf(fake, releases);
    await bot.close();
    print('            (the bot ends, and the next one starts)');
    bot = await startBot({ ...programs, port: new URL(bot.callbacks).port });
    print(`            bob presses [Allow]; only bob sees: ${await press(fake, 'bob', asking)}`);
    print('            ann presses [Allow]');
    await press(fake, 'ann', asking);
    await answerTo(fake, question, 'I posted it');
    seen();
    transcript.update(fake.channel('announcements'));

    await act('Files go both ways');
    const log = sendFile(fake, { user: 'bob', text: '@helper what is wrong here?', name: 'app.log', content: LOG });
    await answerTo(fake, log, 'errors');
    await until(() => repliesTo(fake, log).some(({ file_ids }) => file_ids.length > 0));
    seen();

    await act('A slash command changes the settings of a channel');
    fake.world.customCommands.set('helper', { url: `${bot.callbacks}/command`, token: COMMAND_TOKEN });
    const body = { channel_id: releases.id, command: '/helper answers all' };
    const { body: answer } = await userOf(fake, 'cleo').post<{ text: string }>('/commands/execute', body);
    print(`~releases  cleo: ${body.command}`);
    print(`            only cleo sees: ${answer.text}`);
    const open = fake.say('bob', 'releases', 'Did the tests of 2.4 pass?');
    await answerTo(fake, open, 'passed');
    seen();
    print('\nEnd of the demo. docs/mattermost.md explains the server, docs/mattermost-bot.md the bot.');
    return { channel };
  } finally {
    await bot?.close();
    await server.close();
    await fake.close();
    await rm(folder, { recursive: true });
  }
}

/** The reply in the thread of a question that contains a text. */
async function answerTo(fake: FakeMattermost, question: Post, text: string): Promise<Post> {
  const found = () => repliesTo(fake, question).find(({ message }) => message.includes(text));
  await until(() => found() !== undefined);
  return found() ?? question;
}

function repliesTo({ world }: FakeMattermost, { id }: Post): Post[] {
  return (world.replies.get(id) ?? []).filter(({ delete_at }) => delete_at === 0);
}

async function until(isTrue: () => boolean): Promise<void> {
  const end = Date.now() + PATIENCE_MS;
  while (!isTrue()) {
    if (Date.now() > end) throw new Error('The bot did not do what the scene expects.');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Presses Allow; returns what only that user sees. */
async function press(fake: FakeMattermost, user: string, post: Post): Promise<string> {
  const { body } = await userOf(fake, user).post<{ ephemeral_text?: string }>(`/posts/${post.id}/actions/allow`);
  return body.ephemeral_text ?? '';
}

interface SentFile {
  user: string;
  text: string;
  name: string;
  content: string;
}

function sendFile(fake: FakeMattermost, { user: username, text, name, content }: SentFile): Post {
  const user = fake.user(username);
  const channel = fake.channel('releases');
  const file = storeFile(fake.world, { user, channelId: channel.id, name, content: Buffer.from(content) });
  return storePost(fake.world, channel, { user, message: text, fileIds: [file.id] });
}
