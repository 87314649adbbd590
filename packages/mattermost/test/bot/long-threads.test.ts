// What a bot reads of a long thread, and files that the model generates.
import { ScriptedModel } from 'pocket-agent/testing';
import { expect, test } from 'vitest';
import { until } from '../until.ts';
import { asked, world } from './bot-world.ts';

async function longThread(model: ScriptedModel, count: number) {
  const made = await world({ model });
  const root = made.fake.say('bob', 'town-square', 'Where do we eat?');
  for (let number = 1; number < count; number++) {
    made.fake.say('alice', 'town-square', `Proposal ${number}`, { root: root.id });
  }
  made.fake.say('bob', 'town-square', '@helper what now?', { root: root.id });
  return made;
}

test('the older messages of a long thread are summarised by the model, the latest are read', async () => {
  const model = new ScriptedModel(['They look for a restaurant.', 'Pizza!']);
  const { texts } = await longThread(model, 50);
  await until(texts).toEqual(['Pizza!']);
  const summarised = asked(model, 0);
  expect(summarised).toContain('Where do we eat?');
  expect(summarised).toContain('Proposal 19');
  expect(summarised).not.toContain('Proposal 20');
  expect(model.calls[0]?.tools ?? []).toEqual([]);
  const answered = asked(model, 1);
  expect(answered).toContain('Summary of 20 older messages:\\nThey look for a restaurant.');
  expect(answered).toContain('Proposal 20');
  expect(answered).toContain('Proposal 49');
  expect(answered).not.toContain('Proposal 19');
});

test('a short thread is read as it is', async () => {
  const model = new ScriptedModel(['Pizza!']);
  const { texts } = await longThread(model, 30);
  await until(texts).toEqual(['Pizza!']);
  expect(asked(model)).toContain('Where do we eat?');
  expect(asked(model)).not.toContain('Summary of');
});

test('if the summary fails, the older messages are left out and the question is answered', async () => {
  const model = new ScriptedModel([{ error: new Error('no model') }, 'Pizza!']);
  const { texts, logLines } = await longThread(model, 40);
  await until(texts).toEqual(['Pizza!']);
  expect(asked(model)).toContain('(10 older messages are left out.)');
  expect(logLines.join('')).toContain('thread_not_summarised');
});

test('files that the model generates are posted after the answer', async () => {
  const picture = Buffer.from('89504e470d0a1a0a', 'hex');
  const data = { type: 'data' as const, data: picture.toString('base64') };
  const model = new ScriptedModel([
    {
      content: [
        { type: 'text', text: 'Here it is.' },
        { type: 'file', mediaType: 'image/png', data },
      ],
    },
  ]);
  const { fake, texts, said } = await world({ model });
  const question = fake.say('alice', 'town-square', '@helper draw a square');
  await until(texts).toEqual(['Here it is.', '']);
  const post = said().at(-1);
  expect(post).toMatchObject({ root_id: question.id, file_ids: [expect.any(String)] });
  const file = fake.world.files.get(post?.file_ids[0] ?? '');
  expect(file?.info).toMatchObject({ name: 'file-1.png', mime_type: 'image/png' });
  expect(file?.content.equals(picture)).toBe(true);
});
