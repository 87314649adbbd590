// Questions for a yes that a process has left behind: nobody can answer them any more, so they lose their buttons.
import type { Message, SendableChannels } from 'discord.js';

const LOOKED_THROUGH = 50;

export async function closeLeftQuestions(channel: SendableChannels, claim: string): Promise<void> {
  const found = await channel.messages.fetch({ after: claim, limit: LOOKED_THROUGH });
  for (const message of found.values()) {
    if (!isOpenQuestion(message, claim)) continue;
    const [title] = message.content.split('\n');
    await message.edit({ content: `${title}\n-# I was restarted, so I did not.`, components: [] });
  }
}

function isOpenQuestion({ author, client, components }: Message, claim: string): boolean {
  return author.id === client.user.id && JSON.stringify(components).includes(`"allow:${claim}.`);
}
