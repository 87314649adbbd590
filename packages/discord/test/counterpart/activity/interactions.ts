// The life of an interaction: from a person's action until it is answered or fails.
import {
  type APIUser,
  GatewayDispatchEvents,
  InteractionContextType,
  InteractionType,
  type MessageFlags,
  PermissionFlagsBits,
} from 'discord-api-types/v10';
import { channelPermissions } from '../state/permissions.ts';
import type { Channel, StoredInteraction, StoredMessage } from '../state/records.ts';
import { channelJson, memberJson, messageJson } from '../state/to-json.ts';
import type { World } from '../state/world.ts';

/** What answers may have where the bot is not a member. */
const EXTERNAL_PERMISSIONS =
  PermissionFlagsBits.AttachFiles | PermissionFlagsBits.EmbedLinks | PermissionFlagsBits.MentionEveryone;

interface NewInteraction {
  type: InteractionType;
  user: APIUser;
  channel: Channel;
  data: object;
  source?: StoredMessage | undefined;
  commandName?: string;
}

export function startInteraction(world: World, start: NewInteraction): StoredInteraction {
  const { type, user, channel, data, source } = start;
  const id = world.ids.next();
  const interaction: StoredInteraction = {
    id,
    token: `interaction-${id}`,
    type,
    user,
    channel,
    createdAt: world.now(),
    failed: false,
    isExternal: !world.hasBot(channel),
    followUps: [],
    ...(source && { source }),
    ...(start.commandName !== undefined && { commandName: start.commandName }),
  };
  world.interactions.set(id, interaction);
  interaction.timer = setTimeout(() => fail(world, interaction), world.limits.interactionTimeoutMs).unref();

  const guild = world.guildOf(channel);
  const member = guild?.members.get(user.id);
  world.dispatch({
    event: GatewayDispatchEvents.InteractionCreate,
    guildId: channel.guildId,
    data: {
      id,
      token: interaction.token,
      application_id: world.bot.id,
      type,
      data,
      version: 1,
      channel_id: channel.id,
      channel: {
        ...channelJson(world, channel),
        permissions: String(channelPermissions(world, channel, user.id)),
      },
      app_permissions: String(
        interaction.isExternal ? EXTERNAL_PERMISSIONS : channelPermissions(world, channel, world.bot.id),
      ),
      locale: 'en-US',
      entitlements: [],
      attachment_size_limit: world.limits.maxFileBytes,
      authorizing_integration_owners: {
        ...(!interaction.isExternal && { 0: guild?.id ?? '0' }),
        ...(world.installedBy.has(user.id) && { 1: user.id }),
      },
      context: contextOf(channel),
      ...(source && { message: messageJson(world, source) }),
      ...(guild && member
        ? {
            guild_id: guild.id,
            guild: { id: guild.id, features: [], locale: 'en-US' },
            guild_locale: 'en-US',
            member: { ...memberJson(member), permissions: String(channelPermissions(world, channel, user.id)) },
          }
        : { user }),
    },
  });
  return interaction;
}

export function contextOf({ guildId, people }: Channel): InteractionContextType {
  if (guildId !== undefined) return InteractionContextType.Guild;
  return people ? InteractionContextType.PrivateChannel : InteractionContextType.BotDM;
}

function fail(world: World, interaction: StoredInteraction): void {
  interaction.failed = true;
  world.show({ kind: 'failed', channel: interaction.channel, user: interaction.user, interaction });
}

export function isOfComponent({ type, source }: StoredInteraction): boolean {
  return type === InteractionType.MessageComponent || (type === InteractionType.ModalSubmit && source !== undefined);
}

export function hasFlag(message: StoredMessage, flag: MessageFlags): boolean {
  return (message.flags & flag) !== 0;
}
