// Builds the model input from a Discord message: author, reference, files and question.
import { type GuildMember, type Message, MessageReferenceType, type User } from 'discord.js';
import type { UserInput } from 'pocket-agent';
import { type AttachedFile, type ReadOptions, readAttachments } from './attachments.ts';
import { escapeMarkup, escapeOwnTags, untrusted } from './untrusted.ts';

export async function inputOf(message: Message, options: ReadOptions): Promise<UserInput> {
  const { author, member, client } = message;
  const { block, files } = await referenceOf(message);
  const read = await readAttachments([...files, ...message.attachments.values()], options);
  const others = message.mentions.users.filter(({ id }) => id !== client.user.id && id !== author.id);
  return {
    text: [
      authorTag(author, member?.displayName),
      ...(block === undefined ? [] : [block]),
      ...others.map(describeUser),
      ...read.blocks,
      escapeOwnTags(withoutMention(message.content, client.user.id)),
    ].join('\n'),
    images: read.images,
  };
}

interface CommandQuestion {
  user: User;
  member: GuildMember | null;
  text: string;
  files: readonly AttachedFile[];
}

export async function inputOfCommand(
  { user, member, text, files }: CommandQuestion,
  options: ReadOptions,
): Promise<UserInput> {
  const { blocks, images } = await readAttachments(files, options);
  return { text: [authorTag(user, member?.displayName), ...blocks, escapeOwnTags(text)].join('\n'), images };
}

/** The author of the question; several users can talk to the bot in one channel. */
function authorTag(user: User, displayName = user.displayName): string {
  return `<from name="${escapeMarkup(displayName)}" username="${escapeMarkup(user.username)}" id="${user.id}"/>`;
}

/** Removes mentions of the bot itself. */
export function withoutMention(text: string, botId: string): string {
  return text.replaceAll(new RegExp(`<@!?${botId}>`, 'g'), '').trim();
}

interface Reference {
  block?: string;
  files: AttachedFile[];
}

async function referenceOf(message: Message): Promise<Reference> {
  const { reference, messageSnapshots } = message;
  if (reference?.type === MessageReferenceType.Forward) {
    const snapshots = [...messageSnapshots.values()];
    // Discord does not reveal the author of forwarded messages
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
    return { block: '(The message that this one replies to was deleted.)', files: [] };
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
