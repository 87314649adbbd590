// `!memory`: people list and erase what the bot remembers about them.
import { openConversations } from '@pocket-agent/store';
import { ScriptedModel } from 'pocket-agent/testing';
import { expect, onTestFinished, test } from 'vitest';
import { until } from '../until.ts';
import { world } from './bot-world.ts';

/** A bot that may not forget by itself, with facts about two people. */
async function withMemories() {
  const conversations = await openConversations(':memory:');
  onTestFinished(() => conversations.close());
  const { memory } = conversations;
  const model = new ScriptedModel(['Hello.', 'Hello again.']);
  const agent = () => ({ llmModel: model, memory: true, access: { profile: 'reader' as const } });
  const { fake, texts } = await world({ agent, profile: 'none', conversations });
  const [alice, bob] = [fake.user('alice').id, fake.user('bob').id];
  const { id: tea } = await memory.remember({ owner: alice, text: 'Alice likes tea.' });
  const { id: cats } = await memory.remember({ owner: alice, text: 'Alice has @all cats.' });
  const { id: secret } = await memory.remember({ owner: bob, text: 'Bob plans a surprise.' });
  /** What the bot answers to each message. */
  const say = async (user: string, channel: string, text: string) => {
    const before = texts().length;
    fake.say(user, channel, text);
    await until(() => texts().length).toBe(before + 1);
    return texts().at(-1) ?? '';
  };
  const direct = (user: string, text: string) => say(user, `${user},helper`, text);
  return { memory, model, alice, bob, tea, cats, secret, say, direct };
}

test('a person reads, searches and erases their memories, without the model and under any profile', async () => {
  const { memory, model, alice, bob, tea, cats, secret, direct } = await withMemories();
  const listed = await direct('alice', '!memory');
  expect(listed).toContain(`\`${tea}\` (${new Date().toISOString().slice(0, 10)}): Alice likes tea.`);
  expect(listed).toContain(cats);
  expect(listed).not.toMatch(/Bob|@all/);
  expect(await direct('alice', '!memory TEA')).not.toContain(cats);
  expect(await direct('alice', `!memory erase ${tea} ${secret}`)).toContain(
    `No memory about you has the id ${secret}.`,
  );
  expect(await memory.list({ owner: alice })).toMatchObject([{ id: cats }]);
  expect(await direct('alice', '!Memory erase all')).toBe('Erased 1 memory.');
  expect(await direct('alice', '!memory')).toBe('I remember nothing about you.');
  expect(await memory.list({ owner: bob })).toHaveLength(1);
  expect(model.calls).toEqual([]);
});

test('in a channel nothing is shown, and other messages reach the agent', async () => {
  const { say, direct } = await withMemories();
  expect(await say('alice', 'town-square', '@helper !memory')).toContain('direct message');
  expect(await direct('alice', '!memoryless')).toBe('Hello.');
  expect(await direct('alice', 'What does !memory do?')).toBe('Hello again.');
});

test('without a database the command is an ordinary message', async () => {
  const { fake, texts } = await world({ model: new ScriptedModel(['What?']), profile: 'none' });
  fake.say('alice', 'alice,helper', '!memory');
  await until(texts).toEqual(['What?']);
});
