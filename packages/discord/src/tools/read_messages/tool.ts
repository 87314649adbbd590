// Reads a channel that the user may read. Others read the answer, so private channels are read only for answers in them.
import type { ToolContext } from '@pocket-agent/tool-folder';
import { ChannelType, type Guild, type GuildTextBasedChannel, type Message, PermissionFlagsBits } from 'discord.js';
import { PocketError } from 'pocket-agent';
import { oldestFirst } from '../../base/message-order.ts';
import { untrusted } from '../../context/untrusted.ts';
import type { DiscordContext } from '../../conversation/live-runs.ts';
import { InteractionChannel } from '../../reply/interaction-channel.ts';

interface Wanted {
  channel?: string;
  since?: string;
  limit?: number;
}

interface Range {
  since: number;
  limit: number;
}

const READING = [PermissionFlagsBits.ViewChannel, PermissionFlagsBits.ReadMessageHistory];
const HOUR_MS = 3_600_000;
/** The most that Discord returns at once. */
const PAGE = 100;

export class Tools {
  async tool_read_messages(
    { channel: name = '', since = '24h', limit = 100 }: Wanted,
    { discord }: ToolContext<{ discord: DiscordContext }>,
  ) {
    const { guild, user, channel: here } = discord;
    if (!guild || here instanceof InteractionChannel || here.isDMBased())
      throw failure('This works only in a server that the bot is a member of.');
    const channel = name.trim() === '' ? here : findChannel(guild, name);
    // Discord tells the bot about changes of members only when they do something
    const member = await guild.members.fetch({ user: user.id, force: true });
    const readers = [member, guild.members.me ?? guild.client.user];
    if (!readers.every((reader) => channel.permissionsFor(reader)?.has(READING)))
      throw failure(`The user or the bot may not read #${channel.name}.`);
    const isPrivate = channel.type === ChannelType.PrivateThread;
    const isOpen = !isPrivate && channel.permissionsFor(guild.roles.everyone).has(READING);
    if (channel.id !== here.id && !isOpen)
      throw failure(`#${channel.name} is not open to everyone, so it can be read only for answers in it.`);
    const place = channel.isThread() ? channel.parent : channel;
    if (place && 'nsfw' in place && place.nsfw) throw failure(`#${channel.name} is age-restricted, so it is not read.`);
    const messages = await newest(channel, { since: startOf(since), limit });
    const lines = messages.flatMap((message) =>
      message.id === discord.message?.id || isGrowing(message) ? [] : lineOf(message),
    );
    return untrusted('messages', { channel: channel.name }, lines.join('\n') || '(none)');
  }
}

function findChannel(guild: Guild, typed: string): GuildTextBasedChannel {
  const name = typed.trim().replace(/^#/, '').toLowerCase();
  const id = /^<#(\d+)>$/.exec(name)?.[1] ?? name;
  const { cache } = guild.channels;
  const channel = cache.get(id) ?? cache.find((each) => each.isTextBased() && each.name.toLowerCase() === name);
  if (channel?.isTextBased()) return channel;
  throw failure(`There is no text channel "${typed}" that the bot can see.`);
}

/** The newest messages since a time, oldest first. */
async function newest(channel: GuildTextBasedChannel, { since, limit }: Range): Promise<Message[]> {
  const found: Message[] = [];
  for (let before: string | undefined; found.length < limit; before = found.at(-1)?.id) {
    const page = await channel.messages.fetch({ limit: PAGE, ...(before === undefined ? {} : { before }) });
    const recent = oldestFirst(page.values())
      .reverse()
      .filter(({ createdTimestamp }) => createdTimestamp >= since);
    found.push(...recent);
    if (recent.length < PAGE) break;
  }
  return found.slice(0, limit).reverse();
}

function startOf(since: string): number {
  const [, count, unit] = /^(\d{1,5})\s*(h|d)/i.exec(since.trim()) ?? [];
  if (count !== undefined) return Date.now() - Number(count) * (unit?.toLowerCase() === 'd' ? 24 : 1) * HOUR_MS;
  const time = Date.parse(since);
  if (Number.isNaN(time))
    throw failure(`"${since}" is neither a number of hours or days such as 24h or 7d, nor a date.`);
  return time;
}

/** An answer of the bot that is not complete, such as the one for which it reads. */
function isGrowing({ author, client, components }: Message): boolean {
  return author.id === client.user.id && JSON.stringify(components).includes('"stop:');
}

function lineOf({ content, attachments, author, createdAt, url, system }: Message): string[] {
  const files = [...attachments.values()].map(({ name }) => `[file ${name}]`);
  const text = [content, ...files].filter((part) => part.trim() !== '').join(' ');
  if (system || text === '') return [];
  return [`[${createdAt.toISOString()}] ${author.username} (${url}): ${text}`];
}

function failure(text: string): PocketError {
  return new PocketError('TOOL_FAILED', text);
}
