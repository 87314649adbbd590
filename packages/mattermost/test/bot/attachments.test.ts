// Attachments of questions, and whom the agent works for.
import { openConversations } from '@pocket-agent/store';
import { tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { expect, onTestFinished, test } from 'vitest';
import { FakeProviders, PIXEL } from '../../../pocket-agent/test/fixtures/providers/fake-providers.ts';
import { storeFile } from '../fake/api/files.ts';
import type { FakeMattermost } from '../fake/fake-mattermost.ts';
import { storePost } from '../fake/world/store-post.ts';
import { until } from '../until.ts';
import { asked, world } from './bot-world.ts';

const PDF = Buffer.from('%PDF-1.7 a report');
const PNG = Buffer.from(PIXEL, 'base64');

/** A question of Alice with attachments. */
function ask(fake: FakeMattermost, files: Record<string, Buffer | string>, message = '@helper read this'): void {
  const [user, channel] = [fake.user('alice'), fake.channel('town-square')];
  const ids = Object.entries(files).map(
    ([name, content]) => storeFile(fake.world, { user, channelId: channel.id, name, content: Buffer.from(content) }).id,
  );
  storePost(fake.world, channel, { user, message, fileIds: ids });
}

const lastContent = (model: ScriptedModel) => model.calls.at(-1)?.prompt.at(-1)?.content;

test('PDF, text, audio and images reach the model with the question', async () => {
  const model = new ScriptedModel(['Read.']);
  const wav = Buffer.concat([Buffer.from('RIFF'), Buffer.alloc(4), Buffer.from('WAVEfmt ')]);
  const agent = () => ({ llmModel: model, allowImages: true });
  const { fake, texts } = await world({ agent, profile: 'none' });
  ask(fake, { 'report.pdf': PDF, 'notes.txt': 'Buy milk.', 'memo.wav': wav, 'cat.png': PNG });
  await until(texts).toEqual(['Read.']);
  const data = (bytes: Buffer) => ({ type: 'data', data: bytes.toString('base64') });
  expect(lastContent(model)).toEqual([
    { type: 'text', text: 'alice: read this' },
    { type: 'file', mediaType: 'application/pdf', filename: 'report.pdf', data: data(PDF) },
    { type: 'text', text: '\n[file notes.txt]\nBuy milk.' },
    { type: 'file', mediaType: 'audio/wav', filename: 'memo.wav', data: data(wav) },
    { type: 'file', mediaType: 'image/png', filename: 'cat.png', data: data(PNG) },
  ]);
});

test('attachments that the model does not support are left out, and the model is told so', async () => {
  const providers = await FakeProviders.start();
  onTestFinished(() => providers.close());
  providers.script('Read.');
  const model = 'anthropic/claude-sonnet-4-5';
  const { fake, texts } = await world({ agent: () => providers.modelConfig(model), profile: 'none' });
  ask(fake, { 'one.mp3': 'ID3 one', 'report.pdf': PDF, 'two.mp3': 'ID3 two', 'film.mp4': '\0\0\0\0ftypisom' });
  await until(texts).toEqual(['Read.']);
  expect(providers.requests).toHaveLength(1);
  const content = providers.lastBody.at('messages', 0, 'content');
  expect(content.list).toHaveLength(2);
  expect(content.at(0, 'text').text).toBe(
    [
      'alice: read this',
      '[attachment "one.mp3" is left out: the model does not support its type]',
      '[attachment "two.mp3" is left out: the model does not support its type]',
      '[attachment "film.mp4" is left out: the model does not support its type]',
    ].join('\n'),
  );
  expect(content.at(1, 'type').text).toBe('document');
});

test.each([
  ['an image without allowImages', { 'cat.png': PNG }, 'images are not allowed here'],
  ['a file of an unknown type', { 'data.bin': '\0\u0001' }, 'it could not be read'],
  ['text that is not UTF-8', { 'a.txt': Buffer.from([0xff, 0xfe, 0xfd]) }, 'it could not be read'],
  ['a long text', { 'long.txt': 'a'.repeat(300_000) }, 'text may have 256 kB'],
  [
    'a large file',
    { 'large.pdf': Buffer.concat([PDF, Buffer.alloc(2_000_000)]) },
    'attachments may have 1.0 MB in all',
  ],
])('%s is left out with a note', async (_what, files, reason) => {
  const model = new ScriptedModel(['I cannot.']);
  const { fake, texts } = await world({ model, profile: 'none', config: { maxFileBytes: 1024 * 1024 } });
  ask(fake, files);
  await until(texts).toEqual(['I cannot.']);
  const [name] = Object.keys(files);
  const note = `[attachment "${name}" is left out: ${reason}]`;
  expect(lastContent(model)).toEqual([{ type: 'text', text: `alice: read this\n${note}` }]);
});

test('the limit is for all attachments of a question together', async () => {
  const model = new ScriptedModel(['I read one.']);
  const { fake, texts } = await world({ model, profile: 'none', config: { maxFileBytes: 1024 * 1024 } });
  const large = Buffer.concat([PDF, Buffer.alloc(600_000)]);
  ask(fake, { 'one.pdf': large, 'two.pdf': large });
  await until(texts).toEqual(['I read one.']);
  expect(asked(model)).toContain('\\"two.pdf\\" is left out: attachments may have');
  expect(lastContent(model)).toHaveLength(2);
});

test('a file that Mattermost does not return is left out, and the question is answered', async () => {
  const model = new ScriptedModel(['I cannot.']);
  const { fake, texts } = await world({ model, profile: 'none', config: { maxRetries: 0 } });
  fake.fail({ path: /files\/\w+$/, status: 500, times: 5 });
  ask(fake, { 'report.pdf': PDF });
  await until(texts).toEqual(['I cannot.']);
  expect(asked(model)).toContain('report.pdf\\" is left out: it could not be read');
});

test('tools know the user who asked, and each user has separate memories', async () => {
  const chats = await openConversations(':memory:');
  onTestFinished(() => chats.close());
  const callers: unknown[] = [];
  const note = tool({
    name: 'note',
    description: 'Notes who asks',
    run: (_args, { caller, metadata }) => void callers.push([caller, metadata?.username]),
  });
  const remember = { name: 'remember', arguments: { text: 'Alice likes tea.' } };
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'note' }, remember] },
    'Noted.',
    { toolCalls: [{ name: 'recall' }] },
    'No.',
  ]);
  const agent = () => ({ llmModel: model, tools: [note], memory: true });
  const { fake, texts } = await world({ agent, profile: 'none', conversations: chats });
  fake.say('alice', 'town-square', '@helper I like tea');
  await until(texts).toEqual(['Noted.']);
  expect(callers).toEqual([[fake.user('alice').id, 'alice']]);
  expect(await chats.memory.list({ owner: fake.user('alice').id })).toMatchObject([{ text: 'Alice likes tea.' }]);
  fake.say('bob', 'town-square', '@helper what does Alice like?');
  await until(texts).toEqual(['Noted.', 'No.']);
  expect(asked(model)).toContain('Nothing was found.');
});
