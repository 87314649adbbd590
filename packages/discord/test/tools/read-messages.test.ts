// The included tool that reads a channel, such as for "summarize #general".
import { expect, test } from 'vitest';
import { calls, results, startBot } from '../support/start-bot.ts';

const staff = {
  name: 'staff',
  deny: { everyone: ['ViewChannel' as const] },
  allow: { Helpers: ['ViewChannel' as const], pocket: ['ViewChannel' as const] },
};
const world = {
  guilds: [
    { channels: ['general', 'random', staff, { name: 'late', nsfw: true }], members: { ann: ['Helpers'], bob: [] } },
  ],
};

/** Ann asks in #random; returns what the model read. */
async function read(wanted: Record<string, string | number>, { where = 'random', say = 250 } = {}): Promise<string> {
  const model = calls({ name: 'read_messages', arguments: wanted });
  const { discord } = await startBot({ model, world });
  const [ann, bob] = [discord.user('ann'), discord.user('bob')];
  for (let count = 1; count <= say; count++) bob.say('general', `news ${count}.`);
  ann.say('staff', 'secret news');
  const { id } = ann.say(where, `${discord.bot.mention} summarize it`);
  await discord.waitForBotMessage(
    where,
    ({ content, replyTo }) => replyTo?.messageId === id && content.includes('Used `read_messages`'),
  );
  return results({ prompt: model.calls[1]?.prompt ?? [] });
}

test('it reads the newest messages of a channel in order, marked as untrusted, with authors and links', async () => {
  const text = await read({ channel: '#general', limit: 120 });
  expect(text).toMatch(/untrusted kind=\\+"messages\\+" channel=\\+"general/);
  const found = [...text.matchAll(/bob \(http[^)]+\): news (\d+)\./g)].map(([, count]) => Number(count));
  expect(found).toEqual(Array.from({ length: 120 }, (_, index) => index + 131));
});

test('it does not read what is older, nor the question', async () => {
  expect(await read({ since: '2h' })).toContain('(none)');
  const tomorrow = new Date(Date.now() + 24 * 3_600_000).toISOString();
  expect(await read({ channel: 'general', since: tomorrow }, { say: 3 })).toContain('(none)');
});

test.each([
  [{ channel: 'staff' }, '#staff is not open to everyone, so it can be read only for answers in it.'],
  [{ channel: 'late' }, '#late is age-restricted'],
  [{ channel: 'nowhere' }, 'There is no text channel'],
  [{ channel: 'general', since: 'some day' }, 'is neither a number of hours or days'],
])('%j is refused with the reason', async (wanted, reason) => {
  expect(await read(wanted, { say: 1 })).toContain(reason);
});

test('a private channel is read for answers in it', async () => {
  expect(await read({}, { where: 'staff', say: 1 })).toContain('secret news');
});

test('it reads nothing that the user may not read', async () => {
  const model = calls({ name: 'read_messages', arguments: { channel: 'general' } });
  const quietRoom = { name: 'general', deny: { bob: ['ReadMessageHistory' as const] } };
  const { discord } = await startBot({ model, world: { guilds: [{ channels: [quietRoom, 'random'] }] } });
  discord.user('ann').say('general', 'not for bob');
  discord.user('bob').say('random', `${discord.bot.mention} summarize #general`);
  await discord.waitForBotMessage('random', ({ content }) => content.includes('Used `read_messages`'));
  const text = results({ prompt: model.calls[1]?.prompt ?? [] });
  expect(text).toContain('The user or the bot may not read #general.');
  expect(text).not.toContain('not for bob');
});
