// "This is next": told to whoever has to wait, and taken back when their turn has come.
import type { Message, SendableChannels } from 'discord.js';
import type { BotParts } from '../parts.ts';
import type { Claim } from '../store/schema.ts';

const QUEUED = '-# I am still answering something else here; this is next.';
const LOOKED_THROUGH = 50;

export async function tellQueued({ claims }: BotParts, message: Message, channel: SendableChannels): Promise<void> {
  const sent = await answerWith(QUEUED, message, channel);
  if (!(await claims.setNotice(message.id, sent.id))) await sent.delete();
}

export function answerWith(content: string, to: Message, channel: SendableChannels): Promise<Message> {
  return channel.send({ content, reply: { messageReference: to.id, failIfNotExists: false } });
}

/** A process that was killed may have sent one without noting it down. */
export async function takeBack(
  channel: SendableChannels,
  claim: Claim,
  { known, isInherited }: { known: readonly string[]; isInherited: boolean },
): Promise<void> {
  const found = isInherited ? await channel.messages.fetch({ after: claim.id, limit: LOOKED_THROUGH }) : undefined;
  const stray = found?.filter(
    ({ author, client, content, reference }) =>
      author.id === client.user.id && content === QUEUED && reference?.messageId === claim.id,
  );
  for (const id of new Set([...known, ...(stray?.keys() ?? [])])) await channel.messages.delete(id).catch(() => {});
}
