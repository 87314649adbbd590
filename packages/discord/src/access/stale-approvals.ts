// Removes the buttons of approval requests that a stopped process left behind.
import type { Message } from 'discord.js';
import type { AnswerChannel } from '../reply/interaction-channel.ts';
import { ownMessagesAfter } from '../reply/own-messages.ts';

export async function closeStaleApprovals(channel: AnswerChannel, claim: string): Promise<void> {
  for (const message of await ownMessagesAfter(channel, claim)) {
    if (!isOpenApproval(message, claim)) continue;
    const [title] = message.content.split('\n');
    await message.edit({ content: `${title}\n-# I was restarted, so I did not do it.`, components: [] });
  }
}

function isOpenApproval({ components }: Message, claim: string): boolean {
  return JSON.stringify(components).includes(`"allow:${claim}.`);
}
