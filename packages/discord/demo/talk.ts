// npm run discord:demo -- --tools DIR: talk in the terminal to the bot with your own tool folders, without an account.
import { createInterface } from 'node:readline';
import { createBot, jsonLogger, readEnvironment } from '../src/index.ts';
import { startDiscord } from '../test/counterpart/discord.ts';
import type { StoredMessage } from '../test/counterpart/state/records.ts';
import { showAll } from './show.ts';

const PATIENCE_MS = 600_000;

/** Each line of stdin is a direct message to the bot, or the label of a visible button. Ends with stdin. */
export async function talk(directory: string, print: (line: string) => void): Promise<void> {
  const { DATABASE_URL: _unused, ...env } = process.env;
  const options = readEnvironment({ ...env, POCKET_DISCORD_DB: ':memory:', POCKET_DISCORD_TOOLS: directory });
  const discord = await startDiscord();
  const { token, apiUrl } = discord;
  const bot = createBot({ ...options, token, apiUrl, logger: jsonLogger('warn') });
  const stopShowing = showAll(discord, print);
  const you = discord.user('ann');
  const withButton = (label: string) => discord.botMessages(you.dm).findLast((message) => hasButton(message, label));
  try {
    await bot.start();
    print(
      `You are ann and write direct messages to the bot; commands are not available. Type Allow or Deny to press that button; Ctrl-D ends. Model: ${options.models[0]?.name}.`,
    );
    let asked = '';
    for await (const line of createInterface({ input: process.stdin })) {
      const question = withButton(line.trim());
      if (line.trim() === '') continue;
      if (question) {
        you.click(question, line.trim());
        await discord.waitFor(() => !hasButton(question, line.trim()), { timeoutMs: PATIENCE_MS });
      } else asked = you.say(you.dm, line).id;
      const isOver = () => isAnswered(discord.botMessages(you.dm), asked);
      await discord.waitFor(() => isOver() || withButton('Allow'), { timeoutMs: PATIENCE_MS });
    }
  } finally {
    stopShowing();
    await bot.close();
    await discord.close();
  }
}

/** True for an answer, which has a Regenerate button, and for a notice, which has no button. */
function isAnswered(messages: readonly StoredMessage[], asked: string): boolean {
  return messages.some(
    (message) =>
      message.replyTo?.messageId === asked && (hasButton(message, 'Regenerate') || message.components.length === 0),
  );
}

function hasButton({ components }: StoredMessage, label: string): boolean {
  return label !== '' && JSON.stringify(components).includes(`"label":${JSON.stringify(label)}`);
}
