// The scene of the demo: people talk to the bot on a local Discord.
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

  /** Uses a command in #general and prints it as typed. */
  const use = (who: Person, name: string, options: Record<string, string | boolean> = {}) => {
    const typed = Object.entries(options).map(([option, value]) => ` ${option}:${value}`);
    print(`#general  ${who.user.username}: /${name}${typed.join('')}`);
    return who.command(name, { channel: 'general', options }).reply();
  };
  const press = (who: Person, message: StoredMessage, label: string) => {
    print(`#general  ${who.user.username} presses [${label}]`);
    return who.click(message, label);
  };

  const discord = await startDiscord({
    // normal pace keeps Discord's rate limits
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
  print('The bot on a local Discord. ✎ marks an edit; -# starts a small line; (only for …) is visible to one person.');
  try {
    await bot.start();
    const [ann, bob] = [discord.user('ann'), discord.user('bob')];
    const said = (text: string) =>
      discord.waitForBotMessage(
        'general',
        ({ content, components }) => content.includes(text) && JSON.stringify(components).includes('Regenerate'),
        { timeoutMs: 8_000 },
      );

    await act('Ann mentions the bot; Bob asks before she has her answer');
    ann.say('general', `${discord.bot.mention} hello, who are you?`);
    await pause();
    bob.say('general', `${discord.bot.mention} what time is it in Tokyo?`);
    await said('message grow');
    await said('In Tokyo it is');

    await act('Ann turns all tools off; the conversation continues');
    await use(ann, 'agent', { name: 'Disabled' });
    ann.say('general', `${discord.bot.mention} and what time is it now?`);
    await said('Without tools');
    await use(ann, 'agent', { name: 'send_user_dm_message' });

    await act('A tool that writes needs approval; only Ann can give it');
    ann.say('general', `${discord.bot.mention} please remind me of tea`);
    const question = await discord.waitForBotMessage('general', ({ content }) => content.includes('may I use'));
    await press(bob, question, 'Allow').reply();
    press(ann, question, 'Allow');
    await said('You have mail');

    await act('Commands, and a code block that is not split');
    await use(bob, 'ask', { question: 'show me some code' });
    await said('That prints 42');
    await use(bob, 'cost');

    await act('A summary every Monday, a thread for a question, and a chart of what it cost');
    await use(discord.user('admin'), 'schedule add', { prompt: 'summarize #general', every: 'Monday', at: '09:00' });
    await use(bob, 'ask', { question: 'hello in a thread', thread: true });
    const [thread] = await discord.waitFor(() => discord.threads('general').length > 0 && discord.threads('general'));
    await discord.waitForBotMessage(thread ?? 'general', ({ content }) => content.includes('message grow'));
    await use(bob, 'usage', { of: 'server' });
    print('\nEnd of the demo. docs/discord.md explains how to run the bot on Discord.');
  } finally {
    stopShowing();
    await bot.close();
    await discord.close();
  }
}
