// A conversation continues after any answer: what a provider would reject is not sent to it.
import { type FunctionTool, PocketAgent, tool } from 'pocket-agent';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { FakeAnswer } from '../fixtures/providers/fake-dialect.ts';
import { FakeProviders, PIXEL } from '../fixtures/providers/fake-providers.ts';
import { ask, type How, oncePerDialect } from '../fixtures/providers/questions.ts';

let fake: FakeProviders;
beforeAll(async () => {
  fake = await FakeProviders.start();
});
afterAll(() => fake.close());
afterEach(() => fake.reset());

/** After `answers` to a first question the conversation must go on, whole and streamed. */
async function survives(agent: PocketAgent, how: How, answers: readonly FakeAnswer[], question = 'First?') {
  fake.script(...answers);
  const first = await ask(agent, question, how);
  for (const next of ['run', 'stream'] as const) {
    fake.script('Fine.');
    expect(await ask(agent, 'And now?', next)).toBe('Fine.');
  }
  expect(fake.rejected).toEqual([]);
  return first;
}

const SVG = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>').toString('base64');
const BMP = Buffer.from('BM\x00\x00\x00\x00pixels', 'latin1').toString('base64');
const HEIC = Buffer.from('\x00\x00\x00\x18ftypheic\x00\x00', 'latin1').toString('base64');
const JPEG = Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 16, 74, 70, 73, 70]).toString('base64');

const look: FunctionTool = tool({ name: 'look', description: 'Looks', run: () => 'a cat' });
/** By what they are; `sent` is what the provider gets of an image that can be repaired. */
const images: Record<string, { mimeType: string; data: string; sent?: string }> = {
  'an SVG': { mimeType: 'image/svg+xml', data: SVG },
  'a BMP': { mimeType: 'image/bmp', data: BMP },
  'a HEIC that is called JPEG': { mimeType: 'image/jpeg', data: HEIC },
  'a JPEG that is called PNG': { mimeType: 'image/png', data: JPEG },
  'a PNG in lines': { mimeType: 'image/png', data: PIXEL.replace(/.{40}/g, '$&\r\n'), sent: PIXEL },
  'bytes of no image': { mimeType: 'image/png', data: Buffer.from('hello').toString('base64') },
  'text in place of base64': { mimeType: 'image/png', data: 'not base64!' },
};

function camera(content: { type: 'text'; text: string }[] | object[], isError = false): FunctionTool {
  return tool({ name: 'photo', description: 'Takes a photo', run: () => ({ content: content as never, isError }) });
}

const image = { type: 'image', mimeType: 'image/png', data: PIXEL };
const text = (value: string) => ({ type: 'text', text: value });
const takePhoto: FakeAnswer = { toolCalls: [{ name: 'photo', arguments: {} }] };
const lookOnce: FakeAnswer = { toolCalls: [{ name: 'look', arguments: {} }] };

const everyWay = oncePerDialect.flatMap(({ model }) => (['run', 'stream'] as const).map((how) => ({ model, how })));

describe.each(everyWay)('$model ($how) continues after', ({ model, how }) => {
  test('blank text before a tool call', async () => {
    const agent = fake.agent(model, { tools: [look] });
    expect(await survives(agent, how, [{ ...lookOnce, text: '\n\n' }, { text: 'A cat.' }])).toBe('A cat.');
  });

  test('an answer that ended while the model was thinking', async () => {
    const cut = { text: 'Well.', reasoning: 'Or rather', reasoningLast: true, finish: 'length' } as const;
    expect(await survives(fake.agent(model), how, [cut])).toBe('ANSWER_CUT_OFF');
  });

  test('an invented tool whose name no provider accepts', async () => {
    const toolCalls = [{ name: 'functions.look up!', arguments: {} }];
    await survives(fake.agent(model, { tools: [look] }), how, [{ toolCalls }, { text: 'No such tool.' }]);
  });

  test('a call that was cut off after its name, which is not run', async () => {
    let calls = 0;
    const wipe = tool({ name: 'wipe', description: 'Wipes', run: () => `${++calls}` });
    const agent = fake.agent(model, { tools: [wipe] });
    const cut = { toolCalls: [{ name: 'wipe', arguments: '' }], finish: 'length' } as const;
    expect(await survives(agent, how, [cut, { text: 'I write less.' }])).toBe('I write less.');
    expect(calls).toBe(0);
    expect(JSON.stringify(agent.messages)).toContain('was cut off while it called');
  });
});

/** The prompt does not depend on how earlier answers arrived, and `survives` sends it both ways. */
describe.each(oncePerDialect)('$model continues after', ({ model }) => {
  test.each(['', ' \n'])('the question %j', async (question) => {
    expect(await survives(fake.agent(model), 'run', [{ text: 'What?' }], question)).toBe('What?');
  });

  test('a blank system prompt', async () => {
    await survives(fake.agent(model, { config: { systemPrompt: ' \n' } }), 'run', [{ text: 'Hello.' }]);
  });

  test('tool results that mix text and images, or fail with an image', async () => {
    const config = { allowImages: true };
    const tools = [camera([text('before'), image, text('after')])];
    await survives(fake.agent(model, { tools, config }), 'run', [takePhoto, { text: 'A dot.' }]);
    expect(`${fake.lastBody}`).toContain(PIXEL);
    const failing = [camera([text('the lens broke'), image], true)];
    await survives(fake.agent(model, { tools: failing, config }), 'run', [takePhoto, { text: 'A broken dot.' }]);
    await survives(fake.agent(model, { tools: [camera([image])], config }), 'run', [takePhoto, { text: 'A dot.' }]);
  });

  test('images of a tool that providers reject', async () => {
    const left = Object.values(images);
    const photo = tool({
      name: 'photo',
      description: 'Takes a photo',
      run: () => {
        const { mimeType = '', data = '' } = left.shift() ?? {};
        return { content: [{ type: 'image', mimeType, data }] };
      },
    });
    const photos = left.map(() => takePhoto);
    const agent = fake.agent(model, { tools: [photo], config: { allowImages: true } });
    await survives(agent, 'run', [...photos, { text: 'Done.' }]);
    expect(left).toEqual([]);
    for (const { sent = '' } of Object.values(images)) expect(`${fake.lastBody}`).toContain(sent);
  });

  test('a tool that answers with blank text', async () => {
    const tools = [camera([text(' \n')])];
    await survives(fake.agent(model, { tools }), 'run', [takePhoto, { text: 'Nothing.' }]);
  });

  test('sub-agents without names', async () => {
    const subAgents = Array.from({ length: 20 }, () => new PocketAgent({ agentConfig: { llmModel: 'demo' } }));
    await survives(fake.agent(model, { subAgents }), 'run', [{ text: 'Hello.' }]);
  });
});

test('parts that were left out of a prompt stay in the history', async () => {
  const tools = [camera([{ type: 'image', mimeType: 'image/svg+xml', data: SVG }])];
  const agent = fake.agent('anthropic/claude-sonnet-4-5', { tools, config: { allowImages: true } });
  await survives(agent, 'run', [{ ...takePhoto, text: '\n\n' }, { text: 'Done.' }]);
  expect(JSON.stringify(agent.messages)).toContain(SVG);
  expect(agent.messages[1]?.content[0]).toEqual({ type: 'text', text: '\n\n' });
  expect(`${fake.lastBody}`).toContain('image/svg+xml left out: this model accepts png, jpeg, gif, webp');
});
