// Pictures, from users and from tools, in the form that each provider takes.
import { type FunctionTool, tool } from 'pocket-agent';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { FakeProviders, models, PIXEL } from './fixtures/fake-providers.ts';

let fake: FakeProviders;
beforeAll(async () => {
  fake = await FakeProviders.start();
});
afterAll(() => fake.close());
afterEach(() => fake.reset());

const chatModels = models.filter(({ endpoint }) => endpoint === '/chat/completions');
const otherModels = models.filter(({ endpoint }) => endpoint !== '/chat/completions');

const camera: FunctionTool = tool({
  name: 'photo',
  description: 'Takes a photo',
  inputSchema: { type: 'object', properties: { of: { type: 'string' } } },
  run: ({ of }) => ({
    content: [
      { type: 'text', text: `a photo of ${of}` },
      { type: 'image', mimeType: 'image/png', data: PIXEL },
    ],
  }),
});
const twoPhotos = {
  toolCalls: [
    { name: 'photo', arguments: { of: 'a cat' } },
    { name: 'photo', arguments: { of: 'a dog' } },
  ],
};
const withImages = { allowImages: true };

/** How many times the picture stands in what the provider got. */
function pictures(): number {
  return `${fake.lastBody}`.split(PIXEL).length - 1;
}

describe.each(models)('$model', ({ model, provider }) => {
  test('takes pictures of a user as bytes, base64, URL-safe base64 in lines, and data URL', async () => {
    fake.script('Four dots.');
    const agent = fake.agent(model, { config: withImages });
    const urlSafe = PIXEL.replaceAll('+', '-').replaceAll('/', '_').replace(/.{40}/g, '$&\n');
    const images = [Buffer.from(PIXEL, 'base64'), PIXEL, urlSafe, `data:image/png;base64,${PIXEL}`];
    expect(await agent.run({ text: 'What is this?', images })).toBe('Four dots.');
    expect(fake.refused).toEqual([]);
    expect(pictures()).toBe(4);
    expect(`${fake.lastBody}`.match(/image\/png/g)).toHaveLength(4);
  });

  test('takes a picture without a word', async () => {
    fake.script('A dot.');
    const agent = fake.agent(model, { config: withImages });
    expect(await agent.run({ text: '', images: [PIXEL] })).toBe('A dot.');
    expect(fake.refused).toEqual([]);
  });

  test('takes a picture by URL, fetched here once where the provider does not fetch', async () => {
    fake.script({ toolCalls: [{ name: 'photo', arguments: { of: 'it' } }] }, 'A dot.', 'Still a dot.');
    const agent = fake.agent(model, { config: withImages, tools: [camera] });
    expect(await agent.run({ text: 'What is this?', images: [fake.imageUrl] })).toBe('A dot.');
    expect(await agent.run('And now?')).toBe('Still a dot.');
    expect(fake.refused).toEqual([]);
    const fetchesItself = ['openai', 'azure', 'anthropic'].includes(provider);
    expect(fake.imageFetches).toBe(fetchesItself ? 0 : 1);
    expect(`${fake.lastBody}`.includes(fake.imageUrl)).toBe(fetchesItself);
    expect(JSON.stringify(agent.messages)).toContain(fake.imageUrl);
  });

  test('leaves pictures of tools out where they are not wanted, and says so', async () => {
    fake.script(twoPhotos, 'I saw nothing.');
    expect(await fake.agent(model, { tools: [camera] }).run('Look.')).toBe('I saw nothing.');
    expect(fake.refused).toEqual([]);
    expect(pictures()).toBe(0);
    expect(`${fake.lastBody}`).toMatch(/a photo of a cat.*\[image image\/png, \d+ bytes: left out/s);
  });
});

test.each(chatModels)('$model gets pictures of tools in a user message after all tool messages', async ({ model }) => {
  fake.script(twoPhotos, 'A cat and a dog.', 'As I said.');
  const agent = fake.agent(model, { tools: [camera], config: withImages });
  expect(await agent.run('Look.')).toBe('A cat and a dog.');
  expect(await agent.run('Sure?')).toBe('As I said.');
  expect(fake.refused).toEqual([]);
  const messages = fake.lastBody.at('messages').list;
  const roles = messages.map((message) => message.at('role').text);
  expect(roles).toEqual(['user', 'assistant', 'tool', 'tool', 'user', 'assistant', 'user']);
  expect(messages[2]?.at('content').text).toBe('a photo of a cat\n[image/png: see file 1 in the next user message]');
  expect(messages[3]?.at('content').text).toBe('a photo of a dog\n[image/png: see file 2 in the next user message]');
  const urls = messages[4]?.at('content').list.map((part) => part.at('image_url', 'url').text);
  expect(urls).toEqual(['', `data:image/png;base64,${PIXEL}`, `data:image/png;base64,${PIXEL}`]);
});

test.each(otherModels)('$model gets pictures of tools inside the tool results', async ({ model, provider }) => {
  fake.script(twoPhotos, 'A cat and a dog.');
  const agent = fake.agent(model, { tools: [camera], config: withImages });
  expect(await agent.run('Look.')).toBe('A cat and a dog.');
  expect(fake.refused).toEqual([]);
  expect(pictures()).toBe(2);
  const body = fake.lastBody;
  const results = {
    anthropic: () => body.at('messages', 2, 'content').list.map((block) => block.at('content', 1, 'source', 'data')),
    google: () =>
      body.at('contents', 2, 'parts').list.map((part) => part.at('functionResponse', 'parts', 0, 'inlineData', 'data')),
    openai: () =>
      body
        .at('input')
        .list.filter((item) => item.at('type').text === 'function_call_output')
        .map((item) => item.at('output', 1, 'image_url')),
  };
  const found = provider === 'anthropic' || provider === 'google' ? results[provider]() : results.openai();
  expect(found).toHaveLength(2);
  for (const picture of found) expect(picture.text).toContain(PIXEL);
});

test('a picture that cannot be fetched is an error that names it, without the secret in its query', async () => {
  const agent = fake.agent('ollama/qwen3:8b', { config: withImages });
  const image = `${fake.origin}/nowhere.png?signature=hush`;
  const error: unknown = await agent.run({ text: 'Look.', images: [image] }).catch((reason) => reason);
  expect(error).toMatchObject({ code: 'MODEL_FAILED', message: expect.stringContaining('/nowhere.png') });
  expect(String(error)).toContain('HTTP 404');
  expect(String(error)).not.toContain('hush');
  expect(fake.requests).toEqual([]);
});

test.each(['', 'not base64!', 'data:image/svg+xml,<svg/>', `${'A'.repeat(400)}?`])(
  '%j is no picture',
  async (image) => {
    const agent = fake.agent('gpt-5.1', { config: withImages });
    await expect(agent.run({ text: 'Look.', images: [image] })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  },
);
