// A conversation stored as JSON continues with the same provider and with any other.
import { type FunctionTool, type Message, PocketAgent, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { everyModel, FakeProviders, PIXEL } from '../fixtures/providers/fake-providers.ts';

let fake: FakeProviders;
beforeAll(async () => {
  fake = await FakeProviders.start();
});
afterAll(() => fake.close());
beforeEach(() => void vi.stubEnv('POCKET_AGENT_ALLOW_PRIVATE_URLS', '1')); // the images of the tests are on this machine
afterEach(() => fake.reset());

const camera: FunctionTool = tool({
  name: 'photo',
  description: 'Takes a photo',
  run: () => ({ content: [{ type: 'image', mimeType: 'image/png', data: PIXEL }] }),
});
const fail: FunctionTool = tool({
  name: 'fail',
  description: 'Always fails',
  run: () => {
    throw new Error('the disk is full');
  },
});

async function talkTo(model: string): Promise<Message[]> {
  fake.script(
    {
      reasoning: 'Two tools may help.',
      text: 'One moment.',
      toolCalls: [
        { name: 'photo', arguments: {} },
        { name: 'fail', arguments: {} },
      ],
    },
    { reasoning: 'So that is it.', text: 'I saw a dot.' },
  );
  const agent = fake.agent(model, { tools: [camera, fail], config: { allowImages: true } });
  await agent.run({ text: 'Look at these.', images: [PIXEL, fake.imageUrl] });
  return JSON.parse(JSON.stringify(agent.messages));
}

describe.each(everyModel)('after $model', ({ model }) => {
  let conversation: Promise<Message[]> | undefined;

  test.each(everyModel)('$model continues', async (next) => {
    conversation ??= talkTo(model);
    const messages = structuredClone(await conversation);
    fake.script('As I said: a dot.');
    const agent = fake.agent(next.model, { tools: [camera, fail], config: { allowImages: true, messages } });
    expect(await agent.run('Once more?')).toBe('As I said: a dot.');
    expect(fake.rejected).toEqual([]);
    const sent = `${fake.lastBody}`;
    for (const text of ['Look at these.', 'the disk is full', 'Once more?', PIXEL]) expect(sent).toContain(text);
    expect(agent.messages.slice(0, messages.length)).toEqual(messages);
  });
});

/** Takes any URL itself. */
class FetchingModel extends ScriptedModel {
  override readonly supportedUrls = { '*/*': [/^https:/] };
}

test('a model object gets URL objects and no empty messages', async () => {
  using model = new FetchingModel(['Fine.']);
  const messages = [
    { role: 'user', content: [{ type: 'file', mediaType: 'image/*', data: { type: 'url', url: 'https://a.test/b' } }] },
    { role: 'assistant', content: [{ type: 'text', text: '' }] },
    { role: 'assistant', content: [] },
    { role: 'assistant', content: [{ type: 'reasoning', text: 'Hm.' }] },
    { role: 'user', content: [{ type: 'text', text: '' }] },
  ];
  const agent = new PocketAgent({ agentConfig: { llmModel: model, messages: JSON.parse(JSON.stringify(messages)) } });
  await agent.run('Well?');
  const prompt = model.calls[0]?.prompt ?? [];
  expect(prompt.map(({ role }) => role)).toEqual(['user', 'user', 'user']);
  expect(prompt[0]?.content[0]).toHaveProperty('data.url', expect.any(URL));
  expect(agent.messages).toHaveLength(7);
});
