// Questions for a yes that a process has left behind: nobody can answer them any more, so they lose their buttons.
import type { Message, SendableChannels } from 'discord.js';
import { ownMessagesAfter } from '../reply/own-messages.ts';

export async function closeLeftQuestions(channel: SendableChannels, claim: string): Promise<void> {
  for (const message of await ownMessagesAfter(channel, claim)) {
    if (!isOpenQuestion(message, claim)) continue;
    const [title] = message.content.split('\n');
    await message.edit({ content: `${title}\n-# I was restarted, so I did not.`, components: [] });
  }
}

function isOpenQuestion({ components }: Message, claim: string): boolean {
  return JSON.stringify(components).includes(`"allow:${claim}.`);
}
