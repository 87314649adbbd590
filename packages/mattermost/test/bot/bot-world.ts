// A fake Mattermost with a running bot, and tools to observe it.
import type { MattermostConfig } from '@pocket-agent/mattermost';
import { type BotOptions, createMattermostBot } from '@pocket-agent/mattermost/bot';
import { tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { expect, onTestFinished } from 'vitest';
import { configFor } from '../connect.ts';
import { type FakeMattermost, startFakeMattermost } from '../fake/fake-mattermost.ts';
import { userOf } from '../fake/test-client.ts';
import type { Post } from '../fake/world/model.ts';
import { defaultSeed } from '../fake/world/seed.ts';
import { memoryLog } from '../resources.ts';
import { until } from '../until.ts';

export const seed = {
  users: [...defaultSeed.users, { username: 'other-bot', bot: true }, { username: 'helper2' }],
  teams: defaultSeed.teams.map((team) => ({ ...team, members: [...team.members, 'other-bot', 'helper2'] })),
  channels: defaultSeed.channels.map((channel) => ({
    ...channel,
    members: channel.name === 'town-square' ? [...channel.members, 'other-bot', 'helper2'] : channel.members,
  })),
  conversations: [...defaultSeed.conversations, ['alice', 'helper'], ['bob', 'helper'], ['helper', 'other-bot']],
};

interface World {
  fake: FakeMattermost;
  bot: { close(): Promise<void> };
  logLines: string[];
  /** Posts of the bot, oldest first. */
  said(): Post[];
  texts(): string[];
}

interface WorldOptions extends Partial<Omit<BotOptions, 'config'>> {
  model?: ScriptedModel;
  config?: Partial<MattermostConfig>;
  environment?: Record<string, string>;
  fake?: FakeMattermost;
}

export async function world({
  model,
  config = {},
  environment = {},
  fake: given,
  ...options
}: WorldOptions): Promise<World> {
  const fake = given ?? (await startFakeMattermost({ seed }));
  if (!given) onTestFinished(() => fake.close());
  const before = new Set(fake.world.posts.keys());
  const { log, logLines } = memoryLog();
  const bot = await createMattermostBot({
    config: configFor(fake, { user: 'helper', environment, config }),
    ...(options.durable ? {} : { agent: () => ({ agentConfig: { llmModel: model ?? new ScriptedModel([]) } }) }),
    editMs: 20,
    log,
    ...options,
  });
  onTestFinished(() => bot.close());
  await until(() => fake.socketCount).toBe(1);
  const helper = fake.user('helper').id;
  const said = () =>
    [...fake.world.posts.values()].filter((post) => post.user_id === helper && !post.delete_at && !before.has(post.id));
  return { fake, bot, logLines, said, texts: () => said().map(({ message }) => message) };
}

/** The last prompt of the model, as text. */
export function asked(model: ScriptedModel, call = -1): string {
  return JSON.stringify(model.calls.at(call)?.prompt.filter(({ role }) => role !== 'system'));
}

export async function react(
  fake: FakeMattermost,
  user: string,
  postId: string,
  emoji = 'octagonal_sign',
): Promise<void> {
  const reaction = { user_id: fake.user(user).id, post_id: postId, emoji_name: emoji };
  expect(await userOf(fake, user).post('/reactions', reaction)).toMatchObject({ status: 201 });
}

/** A tool that waits until it is released. */
export function gate(name = 'wait') {
  const started = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  const waiting = tool({
    name,
    description: 'Waits',
    inputSchema: { type: 'object' },
    run: async (_args, { signal }) => {
      started.resolve();
      const aborted = new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      await Promise.race([go.promise, aborted]);
      return 'done';
    },
  });
  return { tool: waiting, started: started.promise, go: go.resolve };
}
