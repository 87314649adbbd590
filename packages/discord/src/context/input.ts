// A Discord message as what a model is asked: who writes, what it refers to, what is attached, and the question.
import { type GuildMember, type Message, MessageReferenceType, type User } from 'discord.js';
import type { UserInput } from 'pocket-agent';
import { type GivenFile, type ReadOptions, readAttachments } from './attachments.ts';
import { asked, escaped, untrusted } from './untrusted.ts';

export async function inputOf(message: Message, options: ReadOptions): Promise<UserInput> {
  const { author, member, client } = message;
  const { block, files } = await referenceOf(message);
  const read = await readAttachments([...files, ...message.attachments.values()], options);
  const others = message.mentions.users.filter(({ id }) => id !== client.user.id && id !== author.id);
  return {
    text: [
      speaker(author, member?.displayName),
      ...(block === undefined ? [] : [block]),
      ...others.map(describeUser),
      ...read.blocks,
      asked(withoutMention(message.content, client.user.id)),
    ].join('\n'),
    images: read.images,
  };
}

interface CommandQuestion {
  user: User;
  member: GuildMember | null;
  text: string;
  files: readonly GivenFile[];
}

export async function inputOfCommand(
  { user, member, text, files }: CommandQuestion,
  options: ReadOptions,
): Promise<UserInput> {
  const { blocks, images } = await readAttachments(files, options);
  return { text: [speaker(user, member?.displayName), ...blocks, asked(text)].join('\n'), images };
}

/** Who says what follows; in a channel many people talk to the bot. */
function speaker(user: User, displayName = user.displayName): string {
  return `<from name="${escaped(displayName)}" username="${escaped(user.username)}" id="${user.id}"/>`;
}

/** `<@id>` and `<@!id>` of the bot itself say nothing. */
export function withoutMention(text: string, botId: string): string {
  return text.replaceAll(new RegExp(`<@!?${botId}>`, 'g'), '').trim();
}

interface Reference {
  block?: string;
  files: GivenFile[];
}

async function referenceOf(message: Message): Promise<Reference> {
  const { reference, messageSnapshots } = message;
  if (reference?.type === MessageReferenceType.Forward) {
    const snapshots = [...messageSnapshots.values()];
    // Discord does not say who wrote it
    const blocks = snapshots.map((snapshot) => untrusted('forwarded message', {}, textOf(snapshot)));
    return { block: blocks.join('\n'), files: snapshots.flatMap(({ attachments }) => [...attachments.values()]) };
  }
  if (reference?.messageId === undefined) return { files: [] };
  try {
    const replied = await message.fetchReference();
    const attributes = { author: replied.author.username, id: replied.id };
    const block = untrusted('replied-to message', attributes, textOf(replied));
    return { block, files: [...replied.attachments.values()] };
  } catch {
    return { block: '(The message that this one replies to is gone.)', files: [] };
  }
}

function textOf({ content, embeds }: Pick<Message, 'content' | 'embeds'>): string {
  const shown = embeds.map(({ title, description }) => [title, description].filter(Boolean).join('\n'));
  return [content, ...shown].filter((part) => part !== '').join('\n');
}

function describeUser(user: User): string {
  const { id, username, displayName, bot } = user;
  return untrusted('mentioned user', { id }, JSON.stringify({ username, displayName, bot }));
}
