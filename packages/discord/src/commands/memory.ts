// /memory: lets people read and erase what the bot remembers about them, whatever their access profile.
import { escapeMarkdown, SlashCommandBuilder } from 'discord.js';
import type { BotParts } from '../conversation/parts.ts';
import { eraseMemories, forget, memoriesOf, type PlacedMemory } from '../store/memory.ts';
import { type ChatCommand, guildInstall, guildsAndDms } from './command.ts';

const ALL = 'all';
const MAX_LISTED = 50;
const HINT = '-# `/memory erase:ID` erases one, `/memory erase:all` all of them.';

export const memoryCommand: ChatCommand = {
  name: 'memory',
  definition: new SlashCommandBuilder()
    .setName('memory')
    .setDescription('Show or erase what I remember about you')
    .setContexts(guildsAndDms)
    .setIntegrationTypes(guildInstall)
    .addStringOption((option) => option.setName('erase').setDescription('The id of a memory, or all').setMaxLength(100))
    .addStringOption((option) =>
      option.setName('search').setDescription('Show only memories with this text').setMaxLength(100),
    )
    .toJSON(),
  async run(parts, { guildId, user, options }) {
    const place = { userId: user.id, guildId };
    const erase = options.getString('erase')?.trim();
    if (!erase) return list(parts, await memoriesOf(parts.chats, place), options.getString('search') ?? '');
    if (erase.toLowerCase() !== ALL)
      return (await forget(parts.chats, place, erase))
        ? 'Erased.'
        : `No memory has this id. ${elsewhere(guildId)}`.trimEnd();
    const erased = await eraseMemories(parts.chats, place);
    return `Erased ${erased === 1 ? '1 memory' : `${erased} memories`}. ${elsewhere(guildId)}`.trimEnd();
  },
};

function list(parts: BotParts, memories: readonly PlacedMemory[], search: string): string {
  const lowerCase = search.toLowerCase();
  const found = memories.filter(({ text }) => text.toLowerCase().includes(lowerCase));
  const [first] = found;
  if (!first) return search === '' ? 'I remember nothing about you here.' : 'No memory contains this text.';
  const lines = found.slice(0, MAX_LISTED).map(({ id, text, createdAt, guildId }) => {
    const where = guildId === null ? '' : ` in ${guildName(parts, guildId)}`;
    const line = escapeMarkdown(text.replace(/\s+/g, ' '));
    return `- \`${id}\` (${createdAt.toISOString().slice(0, 10)}${where}): ${line}`;
  });
  const more = found.length - lines.length;
  return [...lines, ...(more > 0 ? [`- and ${more} more; \`/memory search:TEXT\` finds them`] : []), HINT].join('\n');
}

function guildName({ client }: BotParts, guildId: string): string {
  return escapeMarkdown(client.guilds.cache.get(guildId)?.name ?? `the server ${guildId}`);
}

function elsewhere(guildId: string | null): string {
  return guildId === null ? '' : 'In direct messages, `/memory` shows and erases what I remember from all places.';
}
