// Options and model answers of the wrong kind: each ends in one PocketError that names the thing, and nothing hangs.
import { PocketAgent, PocketError, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { describe, expect, test } from 'vitest';
import { silent } from '../helpers.ts';

const trap = () => {
  throw new Error('trapped');
};
const proxy = () => new Proxy({}, { get: trap, has: trap, ownKeys: trap, getPrototypeOf: trap });
const revoked = () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
};
const getter = () => ({
  get signal() {
    return trap();
  },
});

const hostile: [string, () => unknown][] = [
  ['a proxy that throws', proxy],
  ['a revoked proxy', revoked],
  ['a getter that throws', getter],
  ['null', () => null],
  ['a number', () => 7],
  ['two million characters', () => 'x'.repeat(2_000_000)],
];

/** Wrong values are what these tests are about. */
type Loose = Record<string, (...args: unknown[]) => unknown>;
const make = () => new PocketAgent({ llmModel: new ScriptedModel(['Hello.']), allowImages: true, logger: silent });
const loose = () => make() as unknown as Loose;

async function errorOf(attempt: () => unknown): Promise<unknown> {
  try {
    await attempt();
    return undefined;
  } catch (error) {
    return error;
  }
}

async function expectRefused(attempt: () => unknown, named = ''): Promise<void> {
  const error = await errorOf(attempt);
  expect(error).toBeInstanceOf(PocketError);
  expect(error).toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining(named) });
  expect((error as PocketError).message.length).toBeLessThan(1_000);
}

describe.each(hostile)('%s', (_, value) => {
  test('as options of run() and stream() is refused', async () => {
    await expectRefused(() => loose().run?.('Hi', value()), 'A run');
    await expectRefused(async () => {
      for await (const _event of make().stream('Hi', value() as object));
    }, 'A run');
  });

  test.each(['signal', 'onEvent', 'profile', 'approve', 'metadata', 'traceparent', 'output'])(
    'as the option %s of run() is refused, or ignored as null is',
    async (key) => {
      const error = await errorOf(() => make().run('Hi', { [key]: value() }));
      if (error !== undefined) expect(error).toBeInstanceOf(PocketError);
      expect(String(error).length).toBeLessThan(1_000);
    },
  );

  test('as options of other methods is refused', async () => {
    await expectRefused(() => loose().fork?.(value()));
    await expectRefused(() => loose().addUserMessage?.('Hi', value()));
    await expectRefused(() => loose().addMessage?.(value()));
    await expectRefused(() => loose().step?.(value()));
  });

  test('as options of an agent or a tool is refused', async () => {
    const llmModel = new ScriptedModel([]);
    const options = { llmModel, logger: silent };
    await expectRefused(() => new PocketAgent({ ...options, agentConfig: value() } as never));
    for (const key of ['limits', 'mcpConfig', 'mcpServers', 'prices', 'compaction', 'messages'])
      if (value() !== null) await expectRefused(() => new PocketAgent({ ...options, [key]: value() } as never));
    await expectRefused(() => tool(value() as never), 'tool');
    if (typeof value() === 'string') return;
    await expectRefused(() => tool({ name: value(), description: 'x', run: () => '' } as never), 'tool');
  });
});

test.each([
  ['a symbol', Symbol('image')],
  ['an object that cannot become text', Object.create(null)],
  ['a hole', undefined],
  ['a number', 7],
])('an image that is %s is refused', async (_, image) => {
  await expectRefused(() => make().run({ text: 'Look.', images: [image as never] }), 'An image must be bytes');
});

test('a file without a name may say null', async () => {
  const files = [{ data: Buffer.from('text'), name: null as never, mediaType: null as never }];
  expect(await make().run({ text: 'Read.', files })).toBe('Hello.');
});

test('a message that is not plain JSON is refused', async () => {
  const circle: Record<string, unknown> = { type: 'text', text: 'Hi' };
  circle.providerOptions = { test: { circle } };
  await expectRefused(() => loose().addMessage?.({ role: 'user', content: [circle] }), 'A message cannot be read');
  await expectRefused(() => loose().addMessage?.({ role: 'user', content: [{ type: 'text', text: 7n }] }), 'BigInt');
});

test('options of a completion that are not data are refused', async () => {
  const completionOptions = { providerOptions: { test: { call: () => 1 } } };
  await expectRefused(() => new PocketAgent({ llmModel: 'demo', completionOptions } as never), 'completionOptions');
});

describe('a model object that answers', () => {
  const answering = (change: object) => {
    const model = new ScriptedModel(['Hello.', 'Hello.']);
    const generate = model.doGenerate.bind(model);
    return Object.assign(model, {
      doGenerate: async (options: never) => ({ ...(await generate(options)), ...change }),
    });
  };

  test.each([
    ['without content', { content: undefined }],
    ['with text as content', { content: 'Hello.' }],
    ['with a hole in its content', { content: new Array(1) }],
    ['with a part that is null', { content: [null] }],
    ['without a finish reason', { finishReason: null }],
  ])('%s fails the run', async (_, change) => {
    const agent = new PocketAgent({ llmModel: answering(change), logger: silent });
    await expect(agent.run('Hi')).rejects.toMatchObject({
      code: 'MODEL_FAILED',
      message: expect.stringContaining('its model object did not return { content: [ parts ]'),
    });
  });

  test.each([
    ['without usage', { usage: null }],
    ['with half of the usage', { usage: { inputTokens: { total: 1 } } }],
    ['without warnings', { warnings: undefined }],
    ['with a warning that is null', { warnings: [null] }],
  ])('%s is read as far as it goes', async (_, change) => {
    expect(await new PocketAgent({ llmModel: answering(change), logger: silent }).run('Hi')).toBe('Hello.');
  });
});
