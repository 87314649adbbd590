// Images from users and tools, in the form that each provider accepts.
import { type FunctionTool, PocketAgent, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { FakeProviders, models, PIXEL } from '../fixtures/providers/fake-providers.ts';
import { type Host, listen } from '../fixtures/servers/http-hosts.ts';
import { silent } from '../helpers.ts';

let fake: FakeProviders;
beforeAll(async () => {
  fake = await FakeProviders.start();
});
afterAll(() => fake.close());
beforeEach(() => void vi.stubEnv('POCKET_AGENT_ALLOW_PRIVATE_URLS', '1')); // the images of the tests are on this machine
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

/** How often the image is in the last request. */
function imageCount(): number {
  return `${fake.lastBody}`.split(PIXEL).length - 1;
}

describe.each(models)('$model', ({ model, provider }) => {
  test('accepts images as bytes, base64, URL-safe base64 with line breaks, and data URLs', async () => {
    fake.script('Four dots.');
    const agent = fake.agent(model, { config: withImages });
    const urlSafe = PIXEL.replaceAll('+', '-').replaceAll('/', '_').replace(/.{40}/g, '$&\n');
    const images = [Buffer.from(PIXEL, 'base64'), PIXEL, urlSafe, `data:image/png;base64,${PIXEL}`];
    expect(await agent.run({ text: 'What is this?', images })).toBe('Four dots.');
    expect(fake.rejected).toEqual([]);
    expect(imageCount()).toBe(4);
    expect(`${fake.lastBody}`.match(/image\/png/g)).toHaveLength(4);
  });

  test('accepts an image without text', async () => {
    fake.script('A dot.');
    const agent = fake.agent(model, { config: withImages });
    expect(await agent.run({ text: '', images: [PIXEL] })).toBe('A dot.');
    expect(fake.rejected).toEqual([]);
  });

  test('accepts an image by URL, downloaded once if the provider does not fetch it', async () => {
    fake.script({ toolCalls: [{ name: 'photo', arguments: { of: 'it' } }] }, 'A dot.', 'Still a dot.');
    const agent = fake.agent(model, { config: withImages, tools: [camera] });
    expect(await agent.run({ text: 'What is this?', images: [fake.imageUrl] })).toBe('A dot.');
    expect(await agent.run('And now?')).toBe('Still a dot.');
    expect(fake.rejected).toEqual([]);
    const fetchesItself = ['openai', 'azure', 'anthropic'].includes(provider);
    expect(fake.imageFetches).toBe(fetchesItself ? 0 : 1);
    expect(`${fake.lastBody}`.includes(fake.imageUrl)).toBe(fetchesItself);
    expect(JSON.stringify(agent.messages)).toContain(fake.imageUrl);
  });

  test('leaves out images of tools if allowImages is off, and says so', async () => {
    fake.script(twoPhotos, 'I saw nothing.');
    expect(await fake.agent(model, { tools: [camera] }).run('Look.')).toBe('I saw nothing.');
    expect(fake.rejected).toEqual([]);
    expect(imageCount()).toBe(0);
    expect(`${fake.lastBody}`).toMatch(/a photo of a cat.*\[image image\/png, \d+ bytes: left out/s);
  });
});

test.each(chatModels)('$model gets images of tools in a user message after all tool messages', async ({ model }) => {
  fake.script(twoPhotos, 'A cat and a dog.', 'As I said.');
  const agent = fake.agent(model, { tools: [camera], config: withImages });
  expect(await agent.run('Look.')).toBe('A cat and a dog.');
  expect(await agent.run('Sure?')).toBe('As I said.');
  expect(fake.rejected).toEqual([]);
  const messages = fake.lastBody.at('messages').list;
  const roles = messages.map((message) => message.at('role').text);
  expect(roles).toEqual(['user', 'assistant', 'tool', 'tool', 'user', 'assistant', 'user']);
  expect(messages[2]?.at('content').text).toBe('a photo of a cat\n[image/png: see file 1 in the next user message]');
  expect(messages[3]?.at('content').text).toBe('a photo of a dog\n[image/png: see file 2 in the next user message]');
  const urls = messages[4]?.at('content').list.map((part) => part.at('image_url', 'url').text);
  expect(urls).toEqual(['', `data:image/png;base64,${PIXEL}`, `data:image/png;base64,${PIXEL}`]);
});

test.each(otherModels)('$model gets images of tools inside the tool results', async ({ model, provider }) => {
  fake.script(twoPhotos, 'A cat and a dog.');
  const agent = fake.agent(model, { tools: [camera], config: withImages });
  expect(await agent.run('Look.')).toBe('A cat and a dog.');
  expect(fake.rejected).toEqual([]);
  expect(imageCount()).toBe(2);
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
  for (const image of found) expect(image.text).toContain(PIXEL);
});

describe('an image that cannot be downloaded', () => {
  let host: Host;
  beforeAll(async () => {
    host = await listen(undefined, (request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
      if (pathname === '/mute.png') return;
      if (pathname === '/page.png') response.writeHead(200, { 'content-type': 'text/html' }).end('cloud secret');
      else if (pathname === '/moved.png') response.writeHead(302, { location: searchParams.get('to') ?? '' }).end();
      else if (pathname === '/loop.png') response.writeHead(302, { location: '/loop.png' }).end();
      else if (pathname === '/dot.png')
        response.writeHead(200, { 'content-type': 'image/png' }).end(Buffer.from(PIXEL, 'base64'));
      else response.writeHead(404).end();
    });
  });
  afterAll(() => host.close());
  beforeEach(() => void host.seen.splice(0));

  const look = async (path: string, origin = new URL(host.url).origin) => {
    fake.script('I see nothing.', 'Hello.');
    const agent = fake.agent('ollama/qwen3:8b', { config: withImages });
    expect(await agent.run({ text: 'Look.', images: [`${origin}${path}`] })).toBe('I see nothing.');
    const told = fake.lastBody.at('messages', 0, 'content', 1, 'text').text;
    expect(await agent.run('Never mind.')).toBe('Hello.');
    expect(fake.lastBody.at('messages', 0, 'content', 1, 'text').text).toBe(told);
    expect(fake.rejected).toEqual([]);
    return told;
  };

  test('is reported to the model once, without the secret in its query, and the conversation continues', async () => {
    expect(await look('/nowhere.png?signature=hush')).toBe(
      `[The image 127.0.0.1:${host.port}/nowhere.png could not be fetched: HTTP 404]`,
    );
    expect(host.seen).toHaveLength(1);
  });

  test.each([
    ['a server that is gone', '/a.png', 'http://127.0.0.1:1', 'ECONNREFUSED'],
    ['something else', '/page.png', undefined, 'its type is "text/html", not an image'],
    ['endless redirects', '/loop.png', undefined, 'redirects more than 5 times'],
    ['a file', '/moved.png?to=file:///etc/passwd', undefined, 'Only http and https are fetched'],
  ])('because of %s', async (_what, path, origin, reason) => {
    const told = await look(path, origin);
    expect(told).toContain(reason);
    expect(`${fake.lastBody}`).not.toContain(Buffer.from('cloud secret').toString('base64'));
  });

  test('because its server sends nothing for 10 seconds', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const text = look('/mute.png');
    while (host.seen.length === 0) await new Promise(setImmediate);
    vi.advanceTimersByTime(10_000);
    vi.useRealTimers();
    expect(await text).toContain('sent no complete response within 10000 ms');
  });

  test.each(['127.0.0.1', '[::1]', '[::ffff:127.0.0.1]', 'localhost', '2130706433', '169.254.169.254', '10.0.0.1'])(
    'from the private address %s is refused, and no request is sent',
    async (address) => {
      vi.stubEnv('POCKET_AGENT_ALLOW_PRIVATE_URLS', '');
      expect(await look('/dot.png', `http://${address}:${host.port}`)).toContain('its address is private');
      expect(host.seen).toEqual([]);
    },
  );

  test('does not delay an abort of the run', async () => {
    const agent = fake.agent('ollama/qwen3:8b', { config: withImages });
    const image = `${new URL(host.url).origin}/mute.png`;
    const controller = new AbortController();
    const running = agent.run({ text: 'Look.', images: [image] }, { signal: controller.signal });
    await expect.poll(() => host.seen.length).toBe(1);
    controller.abort();
    await expect(running).rejects.toMatchObject({ code: 'ABORTED' });
  });

  test('is downloaded after a redirect', async () => {
    fake.script('A dot.');
    const agent = fake.agent('ollama/qwen3:8b', { config: withImages });
    await agent.run({ text: 'Look.', images: [`${new URL(host.url).origin}/moved.png?to=/dot.png`] });
    expect(`${fake.lastBody}`).toContain(`data:image/png;base64,${PIXEL}`);
  });
});

test.each(['', 'not base64!', 'data:image/svg+xml,<svg/>', `${'A'.repeat(400)}?`])(
  '%j is not accepted as an image',
  async (image) => {
    const agent = fake.agent('gpt-5.1', { config: withImages });
    await expect(agent.run({ text: 'Look.', images: [image] })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  },
);

test('after a model rejected any number of images, it is called again without them, and later images are sent', async () => {
  const shown: number[] = [];
  const model = new ScriptedModel(['No image.', 'One.']);
  const answer = model.doGenerate.bind(model);
  model.doGenerate = (options) => {
    shown.push(JSON.stringify(options.prompt).split('"file"').length - 1);
    const rejection = Object.assign(new Error('Could not process image'), { statusCode: 400 });
    return (shown.at(-1) ?? 0) > 1 ? Promise.reject(rejection) : answer(options);
  };
  const agent = new PocketAgent({ agentConfig: { llmModel: model, allowImages: true }, logger: silent });
  const image = (number: number) => {
    const bytes = Buffer.from(PIXEL, 'base64');
    bytes.writeUInt32BE(number, bytes.length - 4);
    return bytes.toString('base64');
  };
  const images = Array.from({ length: 10_001 }, (_, number) => image(number));
  expect(await agent.run({ text: 'Look.', images })).toBe('No image.');
  expect(await agent.run({ text: 'And this?', images: [image(20_000)] })).toBe('One.');
  expect(shown).toEqual([10_001, 0, 1]);
});
