// Prints the events of the local Discord as lines.
import type { LocalDiscord } from '../test/counterpart/discord.ts';
import { messageLines } from '../test/counterpart/people/transcript.ts';

/** Prints everything a person would see; returns a function that ends it. */
export function showAll(discord: LocalDiscord, print: (line: string) => void): () => void {
  const shown = new Map<string, string>();
  return discord.watch(({ kind, channel, message, user }) => {
    const place = channel.recipient ? `DM with ${channel.recipient.username}` : `#${channel.name}`;
    if (kind === 'typing') print(`${place}  ${user?.username} is typing …`);
    if (kind === 'delete' && message) print(`${place}  (a message of ${message.author.username} was deleted)`);
    if ((kind !== 'message' && kind !== 'edit') || !message) return;
    const text = messageLines(message).replace(/<@(\d+)>/g, (_mention, id) => `@${discord.user(id).user.username}`);
    if (shown.get(message.id) === text) return;
    shown.set(message.id, text);
    print(`${place}  ${kind === 'edit' ? '✎ ' : ''}${text.replaceAll('\n', `\n${' '.repeat(place.length + 2)}`)}`);
  });
}
