// /schedule: prompts that the bot asks itself at certain times.
import {
  type AutocompleteInteraction,
  ChannelType,
  type ChatInputCommandInteraction,
  PermissionFlagsBits,
  SlashCommandBuilder,
} from 'discord.js';
import { botCanSend, memberCanSend } from '../access/channel-permissions.ts';
import { channelIdsOf, isAllowed } from '../access/profile.ts';
import type { BotParts } from '../conversation/parts.ts';
import { quoted } from '../reply/texts.ts';
import type { ScheduledPrompt } from '../schedules/scheduled-prompts.ts';
import { cronOf, intervals, timesText, timeZones, zoneOf } from '../schedules/times.ts';
import { type ChatCommand, commandPlace, guildInstall, guildsAndDms } from './command.ts';

const MAX_PROMPT = 2_000;

export const scheduleCommand: ChatCommand = {
  name: 'schedule',
  needsAccess: true,
  definition: new SlashCommandBuilder()
    .setName('schedule')
    .setDescription('Questions that I answer at certain times')
    .setContexts(guildsAndDms)
    .setIntegrationTypes(guildInstall)
    // admins can give it to other roles under Server Settings, Integrations
    .setDefaultMemberPermissions(PermissionFlagsBits.ManageMessages)
    .addSubcommand((sub) =>
      sub
        .setName('add')
        .setDescription('Answer a question regularly')
        .addStringOption((option) =>
          option
            .setName('prompt')
            .setDescription('The question or task, such as: summarize #general')
            .setRequired(true)
            .setMaxLength(MAX_PROMPT),
        )
        .addStringOption((option) =>
          option
            .setName('every')
            .setDescription('How often')
            .addChoices(intervals.map((name) => ({ name, value: name }))),
        )
        .addStringOption((option) =>
          option.setName('at').setDescription('The time of day, such as 09:00').setMaxLength(5),
        )
        .addStringOption((option) =>
          option.setName('timezone').setDescription('Such as Europe/Berlin; UTC by default').setAutocomplete(true),
        )
        .addChannelOption((option) =>
          option
            .setName('channel')
            .setDescription('Where to answer; here by default')
            .addChannelTypes(
              ChannelType.GuildText,
              ChannelType.GuildAnnouncement,
              ChannelType.PublicThread,
              ChannelType.PrivateThread,
            ),
        )
        .addStringOption((option) =>
          option
            .setName('cron')
            .setDescription('Instead of every and at: five fields, such as 0 9 * * 1-5')
            .setMaxLength(100),
        ),
    )
    .addSubcommand((sub) => sub.setName('list').setDescription('Show all schedules'))
    .addSubcommand((sub) =>
      sub
        .setName('remove')
        .setDescription('Remove a schedule')
        .addStringOption((option) =>
          option.setName('id').setDescription('The schedule').setRequired(true).setAutocomplete(true),
        ),
    )
    .toJSON(),
  run(parts, interaction) {
    switch (interaction.options.getSubcommand()) {
      case 'add':
        return add(parts, interaction);
      case 'remove':
        return remove(parts, interaction);
      default:
        return list(parts, interaction);
    }
  },
  async autocomplete(parts, interaction) {
    if (interaction.options.getFocused(true).name === 'timezone')
      return timeZones().map((zone) => ({ name: zone, value: zone }));
    const schedules = await parts.schedules.list(placeOf(interaction));
    return schedules.map(({ id, prompt }) => ({ name: `${id} ${quoted(prompt)}`, value: id }));
  },
};

async function add(parts: BotParts, interaction: ChatInputCommandInteraction): Promise<string> {
  const { options } = interaction;
  const { guildId, userId, settings, ...here } = await commandPlace(parts, interaction);
  const times = {
    cron: cronOf({ every: options.getString('every'), at: options.getString('at'), cron: options.getString('cron') }),
    timeZone: zoneOf(options.getString('timezone')),
  };
  const chosen = options.getChannel('channel');
  const channelId = chosen?.id ?? here.channelId;
  if (interaction.inCachedGuild()) {
    const channel = chosen ?? interaction.channel;
    const target = channel && interaction.guild.channels.cache.get(channel.id);
    if (!target?.isTextBased() || !botCanSend(target)) return `I am not allowed to send messages in <#${channelId}>.`;
    const { member } = interaction;
    if (!memberCanSend(target, member)) return `You are not allowed to send messages in <#${channelId}>.`;
    if (!isAllowed(settings, { channelIds: channelIdsOf(target), member }))
      return `I do not answer you in <#${channelId}>.`;
  } else if (guildId !== null) return 'I am not a member of this server.';
  const prompt = options.getString('prompt', true);
  const added = await parts.schedules.add({ ...times, prompt, guildId, channelId, userId });
  return `Added: ${lineOf(added)}\n-# My answers use the access and budget of <@${userId}>. Tools that change or delete something still ask first.`;
}

async function list(parts: BotParts, interaction: ChatInputCommandInteraction): Promise<string> {
  const schedules = await parts.schedules.list(placeOf(interaction));
  if (schedules.length === 0) return 'There are no schedules here. `/schedule add` adds one.';
  return schedules.map((schedule) => `- ${lineOf(schedule)}`).join('\n');
}

async function remove(parts: BotParts, interaction: ChatInputCommandInteraction): Promise<string> {
  const id = interaction.options.getString('id', true);
  const found = (await parts.schedules.list(placeOf(interaction))).find((schedule) => schedule.id === id);
  if (!found) return `There is no schedule \`${id.replaceAll('`', "'").slice(0, 100)}\` here.`;
  const isModerator = interaction.memberPermissions?.has(PermissionFlagsBits.ManageMessages) ?? false;
  if (found.userId !== interaction.user.id && !isModerator)
    return `Only <@${found.userId}> and members who can manage messages can remove it.`;
  await parts.schedules.remove(found);
  return `Removed: ${lineOf(found)}`;
}

function placeOf({ guildId, user }: ChatInputCommandInteraction | AutocompleteInteraction) {
  return { guildId, userId: user.id };
}

function lineOf({ id, guildId, channelId, userId, prompt, nextAt, ...times }: ScheduledPrompt): string {
  const where = guildId === null ? '' : ` in <#${channelId}> by <@${userId}>`;
  const next = Math.floor(nextAt.getTime() / 1_000);
  return `\`${id}\` ${timesText(times)}${where}, next <t:${next}:f>: ${quoted(prompt)}`;
}
