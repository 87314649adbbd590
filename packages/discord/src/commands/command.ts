// What a command is, and what commands share.
import type {
  AutocompleteInteraction,
  BaseInteraction,
  ChatInputCommandInteraction,
  InteractionEditReplyOptions,
  MessageContextMenuCommandInteraction,
  ModalBuilder,
  ModalSubmitInteraction,
  RESTPostAPIApplicationCommandsJSONBody,
} from 'discord.js';
import { ApplicationIntegrationType, InteractionContextType } from 'discord.js';
import { channelIdsOf, isAllowed } from '../access/profile.ts';
import type { Queue } from '../answers/question-queue.ts';
import type { BotParts } from '../conversation/parts.ts';
import { conversationKey } from '../store/conversation-key.ts';
import type { GuildSettings } from '../store/guild-settings.ts';

/** Undefined: the command has answered by itself. */
export type CommandAnswer = string | InteractionEditReplyOptions | undefined;

export interface ChatCommand {
  name: string;
  definition: RESTPostAPIApplicationCommandsJSONBody;
  /** Whether everybody sees the answer. */
  isPublic?: boolean;
  /** Whether it is only for those the bot answers in that channel. */
  forMembers?: boolean;
  /** Whether it answers in time by itself; a refusal that it returns is told for it. */
  answersItself?: boolean;
  run(parts: BotParts, interaction: ChatInputCommandInteraction, queue: Queue): Promise<CommandAnswer>;
  /** A form to fill in first, whose id begins with the name of the command. */
  modal?(interaction: ChatInputCommandInteraction): ModalBuilder | undefined;
  submit?(parts: BotParts, interaction: ModalSubmitInteraction): Promise<CommandAnswer>;
  complete?(parts: BotParts, interaction: AutocompleteInteraction): Promise<{ name: string; value: string }[]>;
}

export interface MessageApp {
  name: string;
  definition: RESTPostAPIApplicationCommandsJSONBody;
  run(parts: BotParts, interaction: MessageContextMenuCommandInteraction): Promise<CommandAnswer>;
}

/** For those whom the admins left out. */
export const NOT_HERE = 'I do not answer you in this channel.';
export const everywhere = [InteractionContextType.Guild, InteractionContextType.BotDM];
export const onlyGuilds = [InteractionContextType.Guild];
export const installed = [ApplicationIntegrationType.GuildInstall];

export interface Here {
  conversation: string;
  settings: GuildSettings;
  guildId: string | null;
  channelId: string;
  userId: string;
}

/** The conversation that somebody has where they use a command. */
export async function hereOf(parts: BotParts, interaction: BaseInteraction): Promise<Here> {
  const { guildId, user } = interaction;
  const settings = await parts.settings.of(guildId);
  const place = { guildId, channelId: interaction.channelId ?? '', userId: user.id };
  return { ...place, settings, conversation: conversationKey(place, settings.scope) };
}

export async function isWelcome(parts: BotParts, interaction: BaseInteraction): Promise<boolean> {
  if (interaction.guildId === null) return true;
  const settings = await parts.settings.of(interaction.guildId);
  const member = interaction.inCachedGuild() ? interaction.member : null;
  return isAllowed(settings, { channelIds: channelIdsOf(interaction.channel), member });
}
