// A local Discord, the bot in it, and people who talk to it.
import { createBot, jsonLogger } from '../src/index.ts';
import { startDiscord } from '../test/counterpart/discord.ts';
import type { Person } from '../test/counterpart/people/person.ts';
import type { StoredMessage } from '../test/counterpart/state/records.ts';
import { showAll } from './show.ts';
import { talkingModel } from './talking-model.ts';

interface Stage {
  isFast: boolean;
  print(line: string): void;
}

export async function playScene({ isFast, print }: Stage): Promise<void> {
  const pace = isFast ? 10 : 1;
  const pause = () => new Promise((resolve) => setTimeout(resolve, 600 / pace));
  const act = async (what: string) => {
    await pause();
    print(`\n— ${what}`);
  };

  /** Uses a command in #general, shown as it is typed. */
  const use = (who: Person, name: string, options: Record<string, string> = {}) => {
    const typed = Object.entries(options).map(([option, value]) => ` ${option}:${value}`);
    print(`#general  ${who.user.username}: /${name}${typed.join('')}`);
    return who.command(name, { channel: 'general', options }).reply();
  };
  const press = (who: Person, message: StoredMessage, label: string) => {
    print(`#general  ${who.user.username} presses [${label}]`);
    return who.click(message, label);
  };

  const discord = await startDiscord({
    // a person may wait where Discord would make them
    ...(isFast ? { rateLimits: 'none' as const } : {}),
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
  print(
    'A local Discord, and the bot in it. ✎ is an edit; -# begins a small line; (only for …) is seen by one person.',
  );
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
    await use(ann, 'agent', { name: 'Disabled' });
    ann.say('general', `${discord.bot.mention} and what time is it now?`);
    await said('Without tools');
    await use(ann, 'agent', { name: 'send_user_dm_message' });

    await act('A tool that writes asks first; only Ann can answer');
    ann.say('general', `${discord.bot.mention} please remind me of tea`);
    const question = await discord.waitForBotMessage('general', ({ content }) => content.includes('may I use'));
    await press(bob, question, 'Allow').reply();
    press(ann, question, 'Allow');
    await said('You have mail');

    await act('Commands, and code that stays whole');
    await use(bob, 'ask', { question: 'show me some code' });
    await said('That prints 42');
    await use(bob, 'cost');
    print('\nThat was the demo. docs/discord.md tells how to run the bot at Discord.');
  } finally {
    stopShowing();
    await bot.close();
    await discord.close();
  }
}
