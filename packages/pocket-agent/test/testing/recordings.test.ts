// recordModel and replayModel, with the real packages of the providers.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LanguageModel, PocketAgent, type PocketAgentOptions, resolveModel, tool } from 'pocket-agent';
import { recordEvents, recordModel, replayModel, ScriptedModel } from 'pocket-agent/testing';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { API_KEY } from '../fixtures/providers/fake-dialect.ts';
import { everyModel, FakeProviders, PIXEL } from '../fixtures/providers/fake-providers.ts';

let providers: FakeProviders;
let folder: string;
beforeAll(async () => {
  providers = await FakeProviders.start();
  folder = await mkdtemp(join(tmpdir(), 'pocket-recordings-'));
});
afterAll(async () => {
  await providers.close();
  await rm(folder, { recursive: true, force: true });
});

let files = 0;
const newFile = () => join(folder, 'runs', `${++files}.json`);

const weather = (degrees = '12') =>
  tool({
    name: 'weather',
    description: 'The weather of a city',
    inputSchema: { type: 'object', properties: { city: { type: 'string' } } },
    capability: 'read',
    run: ({ city }) => `${degrees} degrees in ${city}`,
  });

const silent = { debug() {}, info() {}, warn() {}, error() {} };

function makeAgent(llmModel: LanguageModel, options: Partial<PocketAgentOptions> = {}): PocketAgent {
  return new PocketAgent({
    agentConfig: { name: 'Tester', llmModel, systemPrompt: 'Be brief.', allowImages: true },
    tools: [weather()],
    logger: silent,
    ...options,
  } as PocketAgentOptions);
}

async function recorded(script: ConstructorParameters<typeof ScriptedModel>[0], prompt = 'Weather in Rome?') {
  const file = newFile();
  await using agent = makeAgent(recordModel(new ScriptedModel(script), file));
  const answer = await agent.run(prompt);
  return { file, answer };
}

const twoSteps = [{ toolCalls: [{ name: 'weather', arguments: { city: 'Rome' } }] }, 'It is 12 degrees.'];

test.each(everyModel)('$model: a recorded run is replayed without a network', async ({ model }) => {
  const file = newFile();
  providers.script(
    { reasoning: 'I look it up.', toolCalls: [{ name: 'weather', arguments: { city: 'Rome' }, id: 'one' }] },
    'It is 12 degrees.',
  );
  const { llmModel, modelSettings } = providers.modelConfig(model);
  const real = await resolveModel(llmModel as string | LanguageModel, modelSettings);
  const first = recordEvents();
  {
    await using agent = makeAgent(recordModel(real, file), { hooks: first });
    expect(await agent.run('Weather in Rome?')).toBe('It is 12 degrees.');
  }
  providers.reset();

  using replayed = replayModel(file);
  const second = recordEvents();
  await using agent = makeAgent(replayed, { hooks: second });
  expect(await agent.run('Weather in Rome?')).toBe('It is 12 degrees.');
  expect(second.types()).toEqual(first.types());
  expect([replayed.provider, replayed.modelId]).toEqual([real.provider, real.modelId]);
  expect(providers.requests).toEqual([]);
  expect(await readFile(file, 'utf8')).not.toContain(API_KEY);
});

test('a streamed run can be replayed as a whole, and the other way round', async () => {
  const file = newFile();
  providers.script({ reasoning: 'Hm.', toolCalls: [{ name: 'weather', arguments: { city: 'Rome' } }] }, 'A warm day.');
  const { llmModel, modelSettings } = providers.modelConfig('anthropic/claude-sonnet-4-5');
  const real = await resolveModel(llmModel as string, modelSettings);
  {
    await using agent = makeAgent(recordModel(real, file));
    await agent.run('Weather in Rome?', { streaming: true });
  }
  providers.reset();
  for (const streaming of [true, false]) {
    using replayed = replayModel(file);
    const deltas: string[] = [];
    await using agent = makeAgent(replayed);
    const answer = await agent.run('Weather in Rome?', {
      streaming,
      onEvent: (event) => void (event.type === 'text_delta' && deltas.push(event.data.delta)),
    });
    expect(answer).toBe('A warm day.');
    expect(deltas.join('')).toBe(streaming ? 'A warm day.' : '');
  }
});

test('usage and costs of a replay are those of the recorded run', async () => {
  const file = newFile();
  providers.script({ text: 'Hello.', usage: { input: 1000, output: 200 } });
  const { llmModel, modelSettings } = providers.modelConfig('openai/gpt-5.1');
  const real = await resolveModel(llmModel as string, modelSettings);
  await using agent = makeAgent(recordModel(real, file));
  await agent.run('Hi');
  providers.reset();
  await using again = makeAgent(replayModel(file));
  await again.run('Hi');
  expect(again.totals.usage).toEqual(agent.totals.usage);
  expect(again.totals.usage.costUsd).toBeGreaterThan(0);
});

test('a request that differs fails with the place, what was recorded and what is asked now', async () => {
  const { file } = await recorded(twoSteps);
  await using agent = makeAgent(replayModel(file), { tools: [weather('13')] });
  const error = await agent.run('Weather in Rome?').catch((reason) => reason);
  expect(error.code).toBe('MODEL_FAILED');
  expect(error.message).toContain(`The request differs from call 2 of 2 in the recording ${file}:`);
  expect(error.message).toMatch(
    /prompt\[3\]\.content\[0\]\.output\S*\n {4}recorded: "12 degrees in Rome"\n {4}now: {6}"13 degrees in Rome"\n/,
  );
  expect(error.message).toContain('run once with recordModel');
});

test('the error shows the part of a long text that differs, and tools by name', async () => {
  const { file } = await recorded(['Yes.'], `${'long '.repeat(500)}one${' more'.repeat(500)}`);
  await using agent = makeAgent(replayModel(file), { tools: [] });
  const error = await agent.run(`${'long '.repeat(500)}two${' more'.repeat(500)}`).catch((reason) => reason);
  expect(error.message).toMatch(/recorded: …"(long )+one more/);
  expect(error.message).toMatch(/now: {6}…"(long )+two more/);
  expect(error.message).toMatch(/tools\S*\n {4}recorded: .*weather/);
  expect(error.message.length).toBeLessThan(2_000);
});

test('a call too many fails, and assertDone fails for calls that were not made', async () => {
  const { file } = await recorded(['Hello.'], 'Hi');
  const replayed = replayModel(file);
  expect(() => replayed.assertDone()).toThrow(`1 of 1 calls in ${file} were not used`);
  await using agent = makeAgent(replayed);
  await agent.run('Hi');
  replayed.assertDone();
  await expect(agent.run('Hi again')).rejects.toThrow('has 1 model calls, and the agent made another one');
});

test('calls of agents that run at the same time are replayed in any order', async () => {
  const file = newFile();
  const echo = ({ prompt }: { prompt: unknown }) => `I heard ${/city \d/.exec(JSON.stringify(prompt))?.[0]}`;
  const model = recordModel(new ScriptedModel([echo, echo, echo]), file);
  const ask = (llmModel: LanguageModel, cities: number[]) =>
    Promise.all(
      cities.map(async (city) => {
        await using agent = makeAgent(llmModel);
        return await agent.run(`Tell me of city ${city}`);
      }),
    );
  await ask(model, [1, 2, 3]);
  using replayed = replayModel(file);
  expect(await ask(replayed, [3, 1, 2])).toEqual(['I heard city 3', 'I heard city 1', 'I heard city 2']);
});

test('tools may be listed in another order, and ids of calls may be random', async () => {
  const file = newFile();
  const other = tool({ name: 'other', description: 'Another tool', run: () => 'x' });
  const call = { name: 'weather', arguments: { city: 'Rome' }, id: 'same' };
  const script = [{ toolCalls: [call] }, { toolCalls: [call] }, 'Done.'];
  {
    await using agent = makeAgent(recordModel(new ScriptedModel(script), file), { tools: [weather(), other] });
    await agent.run('Go');
  }
  using replayed = replayModel(file);
  await using agent = makeAgent(replayed, { tools: [other, weather()] });
  expect(await agent.run('Go')).toBe('Done.');
});

test('secrets are never recorded: keys of the environment, strings like keys, fields named like secrets', async () => {
  vi.stubEnv('MY_SERVICE_TOKEN', 'plain words as a secret');
  vi.stubEnv('MISTRAL_API_KEY', 'unlike-any-other');
  const file = newFile();
  const secrets = ['plain words as a secret', 'unlike-any-other', 'sk-abcdefghijklmnop123', 'hunter2hunter2'];
  const login = tool({
    name: 'login',
    description: `Uses ${secrets[1]}`,
    inputSchema: { type: 'object' },
    run: () => `the token is ${secrets[0]}, the key ${secrets[2]}`,
  });
  const script = () => [
    { toolCalls: [{ name: 'login', arguments: { password: secrets[3] } }] },
    `I used ${secrets[2]} and ${secrets[1]}.`,
  ];
  {
    await using agent = makeAgent(recordModel(new ScriptedModel(script()), file), { tools: [login] });
    await agent.run(`Log in with ${secrets[2]}`);
  }
  const text = await readFile(file, 'utf8');
  for (const secret of secrets) expect(text).not.toContain(secret);
  expect(text).toContain('[redacted]');

  // the replay knows other secrets than the recording
  vi.stubEnv('OTHER_TOKEN', 'Uses [redacted]');
  using replayed = replayModel(file);
  await using agent = makeAgent(replayed, { tools: [login] });
  expect(await agent.run(`Log in with ${secrets[2]}`)).toBe('I used [redacted] and [redacted].');
});

test('values that only the program knows are given as secrets', async () => {
  const file = newFile();
  const login = (token: string, end = '!') =>
    tool({ name: 'login', description: 'Logs in', run: () => `Welcome, ${token}${end}` });
  const script = [{ toolCalls: [{ name: 'login', arguments: {} }] }, 'I am quiet-as-a-mouse.'];
  {
    const model = recordModel(new ScriptedModel(script), file, { secrets: ['quiet-as-a-mouse'] });
    await using agent = makeAgent(model, { tools: [login('quiet-as-a-mouse')] });
    await agent.run('Log in');
  }
  expect(await readFile(file, 'utf8')).not.toContain('mouse');
  // tests have other secrets, or none
  using replayed = replayModel(file);
  await using agent = makeAgent(replayed, { tools: [login('test')] });
  expect(await agent.run('Log in')).toBe('I am [redacted].');
  await using other = makeAgent(replayModel(file), { tools: [login('test', '?')] });
  await expect(other.run('Log in')).rejects.toThrow(/recorded: "Welcome, \[redacted\]!"\n +now: +"Welcome, test\?"/);
});

test('arguments of tools stay valid JSON when secrets are taken out of them', async () => {
  const given: unknown[] = [];
  const save = tool({
    name: 'save',
    description: 'Saves',
    inputSchema: { type: 'object' },
    run: (args) => void given.push(args),
  });
  const file = newFile();
  const exact = '{ "limit":  10, "token_budget": 4096 }';
  const script = [
    { toolCalls: [{ name: 'save', arguments: { token: 8231, pin: { password: 90210 }, note: 'a "b"' } }] },
    { toolCalls: [{ name: 'save', arguments: exact }] },
    'Saved.',
  ];
  {
    await using agent = makeAgent(recordModel(new ScriptedModel(script), file), { tools: [save] });
    await agent.run('Save');
  }
  const text = await readFile(file, 'utf8');
  expect(text).not.toMatch(/8231|90210/);
  expect(text).toContain(JSON.stringify(exact));
  using replayed = replayModel(file);
  await using agent = makeAgent(replayed, { tools: [save] });
  expect(await agent.run('Save')).toBe('Saved.');
  expect(given[2]).toEqual({ token: '[redacted]', pin: { password: '[redacted]' }, note: 'a "b"' });
});

test('two recordings in one file at the same time are refused', async () => {
  const file = newFile();
  const [first, second] = [
    recordModel(new ScriptedModel(['a', 'b']), file),
    recordModel(new ScriptedModel(['c']), file),
  ];
  await using one = makeAgent(first);
  await using other = makeAgent(second);
  await one.run('Hi');
  await other.run('Hi');
  await expect(one.run('Hi')).rejects.toThrow(`Another recordModel records in ${file} now`);
});

test('a stream that breaks in the middle is recorded as the failure it was', async () => {
  const file = newFile();
  providers.script({ text: 'It is sunny and warm.', cut: 'midway' });
  const { llmModel, modelSettings } = providers.modelConfig('anthropic/claude-sonnet-4-5');
  const real = await resolveModel(llmModel as string, modelSettings);
  const limits = { modelRetries: 0 };
  const errorOf = async (model: LanguageModel) => {
    await using agent = makeAgent(model, { limits });
    return await agent.run('Weather?', { streaming: true }).catch((error: unknown) => error);
  };
  const failed = await errorOf(recordModel(real, file));
  providers.reset();
  using replayed = replayModel(file);
  const again = await errorOf(replayed);
  expect(failed).toMatchObject({ code: 'MODEL_FAILED' });
  expect(again).toMatchObject({ code: 'MODEL_FAILED', message: (failed as Error).message });
});

test('headers and the contents of files are not recorded, and another file is a difference', async () => {
  const file = newFile();
  const completionOptions = { headers: { 'x-account': 'of-the-account' } };
  const withHeaders = (llmModel: LanguageModel) =>
    makeAgent(llmModel, { agentConfig: { name: 'Tester', llmModel, allowImages: true, completionOptions } });
  {
    await using agent = withHeaders(recordModel(new ScriptedModel(['A pixel.']), file));
    await agent.run({ text: 'What is this?', images: [PIXEL] });
  }
  const text = await readFile(file, 'utf8');
  expect(text).not.toContain(PIXEL);
  expect(text).not.toContain('of-the-account');
  expect(text).toMatch(/sha256 [0-9a-f]{64}, \d+ bytes/);
  await using agent = withHeaders(replayModel(file));
  expect(await agent.run({ text: 'What is this?', images: [Buffer.from(PIXEL, 'base64')] })).toBe('A pixel.');
  await using other = withHeaders(replayModel(file));
  const cut = Buffer.from(PIXEL, 'base64').subarray(0, -1);
  await expect(other.run({ text: 'What is this?', images: [cut] })).rejects.toThrow(
    /recorded: "sha256 .*\n.*now: +"sha256 /,
  );
});

test('a failed attempt is replaced by its repetition; a final failure is replayed without retries', async () => {
  const file = newFile();
  const overloaded = Object.assign(new Error('overloaded'), { statusCode: 529, isRetryable: true });
  const limits = { modelRetries: 1 };
  {
    const model = new ScriptedModel([{ error: overloaded }, 'Hello.']);
    await using agent = makeAgent(recordModel(model, file), { limits });
    await agent.run('Hi');
  }
  {
    using replayed = replayModel(file);
    await using agent = makeAgent(replayed);
    expect(await agent.run('Hi')).toBe('Hello.');
  }
  {
    const refused = Object.assign(new Error('bad key sk-abcdefghijklmnop123'), { statusCode: 401 });
    await using agent = makeAgent(recordModel(new ScriptedModel([{ error: refused }]), file), { limits });
    await expect(agent.run('Hi')).rejects.toMatchObject({ code: 'MODEL_FAILED', details: { refused: 'key' } });
  }
  expect(await readFile(file, 'utf8')).not.toContain('sk-abc');
  using replayed = replayModel(file);
  await using agent = makeAgent(replayed);
  await expect(agent.run('Hi')).rejects.toMatchObject({
    code: 'MODEL_FAILED',
    details: { refused: 'key', statusCode: 401, attempts: 1 },
  });
});

test('each entry of the file shows only what is new in its request', async () => {
  const { file } = await recorded(twoSteps);
  const text = await readFile(file, 'utf8');
  expect(text.match(/Be brief\./g)).toHaveLength(1);
  expect(text.match(/The weather of a city/g)).toHaveLength(1);
  expect(text.endsWith('}\n')).toBe(true);
  expect(JSON.parse(text)).toMatchObject({
    format: 1,
    provider: 'scripted',
    modelId: 'script',
    calls: [{ answer: { content: [{ type: 'tool-call' }] } }, { sameMessages: 2, request: { prompt: [{}, {}] } }],
  });
});

test('files that are missing or not recordings are named', async () => {
  const file = newFile();
  expect(() => replayModel(file)).toThrow(`There is no recording ${file}: run once with recordModel`);
  const text = join(folder, 'notes.json');
  await writeFile(text, 'Hello');
  expect(() => replayModel(text)).toThrow(`${text} is not JSON`);
  await writeFile(text, '{}');
  expect(() => replayModel(text)).toThrow(`${text} is not a recording of recordModel`);
  await writeFile(text, '{ "format": 9, "provider": "x", "calls": [] }');
  expect(() => replayModel(text)).toThrow('record it again');
  expect(() => recordModel('openai/gpt-5.1' as unknown as LanguageModel, file)).toThrow('model object');
  await using agent = makeAgent(recordModel(new ScriptedModel(['Hi.']), join(text, 'inside.json')));
  await expect(agent.run('Hi')).rejects.toThrow('Cannot write the recording');
});
