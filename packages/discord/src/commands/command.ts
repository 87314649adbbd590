// The type of a command, and helpers that commands share.
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
import type { QuestionQueue } from '../answers/question-queue.ts';
import type { BotParts } from '../conversation/parts.ts';
import { conversationKey } from '../store/conversation-key.ts';
import type { GuildSettings } from '../store/guild-settings.ts';

/** Undefined if the command has replied itself. */
export type CommandAnswer = string | InteractionEditReplyOptions | undefined;

export interface ChatCommand {
  name: string;
  definition: RESTPostAPIApplicationCommandsJSONBody;
  /** Whether all members see the answer. */
  isPublic?: boolean;
  /** Whether it is limited to members whom the bot answers in this channel. */
  needsAccess?: boolean;
  /** Whether it replies itself within three seconds. A returned text is a refusal. */
  repliesItself?: boolean;
  run(parts: BotParts, interaction: ChatInputCommandInteraction, queue: QuestionQueue): Promise<CommandAnswer>;
  /** A form to show first; its id starts with the name of the command. */
  modal?(interaction: ChatInputCommandInteraction): ModalBuilder | undefined;
  submit?(parts: BotParts, interaction: ModalSubmitInteraction): Promise<CommandAnswer>;
  autocomplete?(parts: BotParts, interaction: AutocompleteInteraction): Promise<{ name: string; value: string }[]>;
}

export interface MessageApp {
  name: string;
  definition: RESTPostAPIApplicationCommandsJSONBody;
  run(parts: BotParts, interaction: MessageContextMenuCommandInteraction): Promise<CommandAnswer>;
}

/** The answer to members whom the admins excluded. */
export const NOT_ALLOWED_HERE = 'I do not answer you in this channel.';
export const everywhere = [
  InteractionContextType.Guild,
  InteractionContextType.BotDM,
  InteractionContextType.PrivateChannel,
];
/** For servers, and for people who use the commands wherever they are. */
export const everyInstall = [ApplicationIntegrationType.GuildInstall, ApplicationIntegrationType.UserInstall];
export const guildsAndDms = [InteractionContextType.Guild, InteractionContextType.BotDM];
export const onlyGuilds = [InteractionContextType.Guild];
export const guildInstall = [ApplicationIntegrationType.GuildInstall];

export interface CommandPlace {
  conversation: string;
  settings: GuildSettings;
  guildId: string | null;
  channelId: string;
  userId: string;
  /** The person uses the bot where it is not installed. */
  isRemote: boolean;
}

/** Where a person uses the bot. Servers that have not installed it have no settings for it. */
export function whereUsed({ guildId, context, authorizingIntegrationOwners: owners }: BaseInteraction): {
  guildId: string | null;
  isRemote: boolean;
} {
  const isPersonal =
    owners[ApplicationIntegrationType.UserInstall] !== undefined &&
    owners[ApplicationIntegrationType.GuildInstall] === undefined;
  const isRemote = isPersonal && context !== InteractionContextType.BotDM;
  return { guildId: isRemote ? null : guildId, isRemote };
}

/** The conversation, user and settings for a command. */
export async function commandPlace(parts: BotParts, interaction: BaseInteraction): Promise<CommandPlace> {
  const { guildId, isRemote } = whereUsed(interaction);
  const settings = await parts.settings.get(guildId);
  const place = { guildId, isRemote, channelId: interaction.channelId ?? '', userId: interaction.user.id };
  return { ...place, settings, conversation: conversationKey(place, settings.scope) };
}

export async function isMemberAllowed(parts: BotParts, interaction: BaseInteraction): Promise<boolean> {
  const { guildId } = whereUsed(interaction);
  if (guildId === null) return true;
  const settings = await parts.settings.get(guildId);
  const member = interaction.inCachedGuild() ? interaction.member : null;
  return isAllowed(settings, { channelIds: channelIdsOf(interaction.channel), member });
}
