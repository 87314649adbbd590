// Channels as text, for errors and for the demo.
import { MessageFlags } from 'discord-api-types/v10';
import { flatten, type WireComponent } from '../rules/component-rules.ts';
import type { Channel, StoredMessage } from '../state/records.ts';

export function messageLines(message: StoredMessage): string {
  const marks = [
    message.onlyFor !== undefined && `only for <@${message.onlyFor}>`,
    message.history.length > 1 && `edited ${message.history.length - 1}×`,
    message.deletedAt !== undefined && 'deleted',
    (message.flags & MessageFlags.Loading) !== 0 && 'thinking…',
  ].filter((mark) => mark !== false);
  const components: WireComponent[] = message.components;
  const extras = [
    ...message.embeds.map((embed) => `[embed: ${embed.title ?? ''} ${embed.description ?? ''}]`),
    ...message.files.map((file) => `[file: ${file.name}, ${file.bytes.length} bytes]`),
    ...(message.poll ? [`[poll: ${message.poll.question.text}]`] : []),
    ...flatten(components).flatMap(({ label, custom_id }) => (custom_id ? [`[${label ?? custom_id}]`] : [])),
    ...[...message.reactions].map(([emoji, users]) => `${emoji} ${users.size}`),
  ];
  const head = `${message.author.username}${marks.length > 0 ? ` (${marks.join(', ')})` : ''}: ${message.content}`;
  return [head, ...extras.map((extra) => `  ${extra}`)].join('\n');
}

export function transcript(channel: Channel): string {
  const name = channel.recipient ? channel.name : `#${channel.name}`;
  return [name, ...[...channel.messages.values()].map(messageLines)].join('\n');
}
