// npm run discord:demo: the bot on a local Discord, and people who talk to it. Needs no account and no key.
import { parseArgs } from 'node:util';
import { createBot, jsonLogger } from '../src/index.ts';
import { startDiscord } from '../test/counterpart/discord.ts';
import { showAll } from './show.ts';
import { talkingModel } from './talking-model.ts';

const { values } = parseArgs({ options: { fast: { type: 'boolean', default: false } } });
const pace = values.fast ? 10 : 1;
const print = (line: string) => void process.stdout.write(`${line}\n`);
const pause = () => new Promise((resolve) => setTimeout(resolve, 600 / pace));
const act = async (what: string) => {
  await pause();
  print(`\n— ${what}`);
};

const discord = await startDiscord({
  // a person may wait where Discord would make them
  ...(values.fast ? { rateLimits: 'none' as const } : {}),
  guilds: [{ name: 'Home', channels: ['general'] }],
});
const bot = createBot({
  token: discord.token,
  apiUrl: discord.apiUrl,
  database: { file: ':memory:' },
  models: [{ name: 'talking', model: talkingModel(80 / pace) }],
  prices: { talking: { input: 1, output: 5 } },
  reply: { editIntervalMs: 1_000 / pace },
  logger: jsonLogger('warn'),
});
const stopShowing = showAll(discord, print);
try {
  await bot.start();
  const [ann, bob] = [discord.user('ann'), discord.user('bob')];
  const said = (text: string) =>
    discord.waitForBotMessage(
      'general',
      ({ content, components }) => content.includes(text) && JSON.stringify(components).includes('Regenerate'),
      { timeoutMs: 8_000 },
    );

  await act('Ann mentions the bot; Bob does not wait for his turn');
  ann.say('general', `${discord.bot.mention} hello, who are you?`);
  await pause();
  bob.say('general', `${discord.bot.mention} what time is it in Tokyo?`);
  await said('message grow');
  await said('In Tokyo it is');

  await act('Ann switches all tools off; the conversation stays');
  await ann.command('agent', { channel: 'general', options: { name: 'Disabled' } }).reply();
  ann.say('general', `${discord.bot.mention} and what time is it now?`);
  await said('Without tools');
  await ann.command('agent', { channel: 'general', options: { name: 'send_user_dm_message' } }).reply();

  await act('A tool that writes asks first; only Ann can answer');
  ann.say('general', `${discord.bot.mention} please remind me of tea`);
  const question = await discord.waitForBotMessage('general', ({ content }) => content.includes('may I use'));
  await bob.click(question, 'Allow').reply();
  ann.click(question, 'Allow');
  await said('You have mail');

  await act('Commands, and code that stays whole');
  await bob.command('ask', { channel: 'general', options: { question: 'show me some code' } }).reply();
  await said('That prints 42');
  await bob.command('cost', { channel: 'general' }).reply();
  print('\nThat was the demo. docs/discord.md tells how to run the bot at Discord.');
} finally {
  stopShowing();
  await bot.close();
  await discord.close();
}
