// /setup: what the admins of a guild decide.
import {
  type ChatInputCommandInteraction,
  LabelBuilder,
  ModalBuilder,
  PermissionFlagsBits,
  SlashCommandBuilder,
  TextInputBuilder,
  TextInputStyle,
} from 'discord.js';
import { type ProfileName, profiles } from 'pocket-agent';
import { DiscordBotError } from '../base/errors.ts';
import type { Models } from '../config/models.ts';
import type { GuildSettings } from '../store/guild-settings.ts';
import { readGuildServer } from '../toolbox/mcp-servers.ts';
import { type ChatCommand, installed, onlyGuilds } from './command.ts';
import { shownSettings } from './settings-text.ts';

const profileChoices = Object.keys(profiles).map((name) => ({ name, value: name }));
const MCP_FORM = 'setup:mcp';
const SERVER_NAME = /^[a-zA-Z0-9_-]{1,32}$/;

const definition = new SlashCommandBuilder()
  .setName('setup')
  .setDescription('What I may do in this server')
  .setContexts(onlyGuilds)
  .setIntegrationTypes(installed)
  .setDefaultMemberPermissions(PermissionFlagsBits.ManageGuild)
  .addSubcommand((sub) => sub.setName('show').setDescription('Shows all settings'))
  .addSubcommand((sub) =>
    sub
      .setName('channel')
      .setDescription('Answer only in some channels')
      .addChannelOption((option) => option.setName('channel').setDescription('Which').setRequired(true))
      .addBooleanOption((option) => option.setName('remove').setDescription('Take it off the list')),
  )
  .addSubcommand((sub) =>
    sub
      .setName('role')
      .setDescription('Answer only some roles')
      .addRoleOption((option) => option.setName('role').setDescription('Which').setRequired(true))
      .addBooleanOption((option) => option.setName('remove').setDescription('Take it off the list')),
  )
  .addSubcommand((sub) =>
    sub
      .setName('profile')
      .setDescription('Which tools a role may use')
      .addStringOption((option) =>
        option.setName('profile').setDescription('What they may do').addChoices(profileChoices),
      )
      .addRoleOption((option) => option.setName('role').setDescription('Which; without it, everybody else'))
      .addBooleanOption((option) => option.setName('remove').setDescription('The role may what everybody else may')),
  )
  .addSubcommand((sub) =>
    sub
      .setName('model')
      .setDescription('Which models may be chosen')
      .addStringOption((option) =>
        option.setName('name').setDescription('Which').setRequired(true).setAutocomplete(true),
      )
      .addBooleanOption((option) => option.setName('remove').setDescription('Take it off the list')),
  )
  .addSubcommand((sub) => sub.setName('mcp').setDescription('Brings an MCP server along'))
  .addSubcommand((sub) =>
    sub
      .setName('mcp-remove')
      .setDescription('Removes an MCP server')
      .addStringOption((option) =>
        option.setName('name').setDescription('Which').setRequired(true).setAutocomplete(true),
      ),
  )
  .addSubcommand((sub) =>
    sub
      .setName('budget')
      .setDescription('Dollars a day; what is left out stays, without any number there is no limit')
      .addNumberOption((option) => option.setName('server').setDescription('For all together').setMinValue(0))
      .addNumberOption((option) => option.setName('person').setDescription('For each person').setMinValue(0)),
  )
  .addSubcommand((sub) =>
    sub
      .setName('conversations')
      .setDescription('Who talks to me together')
      .addStringOption((option) =>
        option
          .setName('scope')
          .setDescription('One conversation for a channel, or one for each person in it')
          .setRequired(true)
          .addChoices({ name: 'channel', value: 'channel' }, { name: 'person', value: 'user' }),
      )
      .addBooleanOption((option) =>
        option.setName('summaries').setDescription('Sum up what no longer fits, instead of forgetting it'),
      ),
  )
  .addSubcommand((sub) =>
    sub
      .setName('clear')
      .setDescription('Empties a list, also of what is gone')
      .addStringOption((option) =>
        option
          .setName('what')
          .setDescription('Which')
          .setRequired(true)
          .addChoices(['channels', 'roles', 'profiles', 'models'].map((name) => ({ name, value: name }))),
      ),
  )
  .toJSON();

export const setupCommand: ChatCommand = {
  name: 'setup',
  definition,
  async run(parts, interaction) {
    const { guildId } = interaction;
    if (guildId === null) return 'That is only for servers.';
    // who sees the command is up to the server; who may change things is not
    if (!interaction.memberPermissions?.has(PermissionFlagsBits.ManageGuild)) return 'That is only for admins.';
    const settings = await parts.settings.change(guildId, (current) =>
      change(current, { options: interaction.options, models: parts.models }),
    );
    return shownSettings(parts, { guild: interaction.guild, settings });
  },
  modal(interaction) {
    if (interaction.options.getSubcommand() !== 'mcp') return undefined;
    const field = (id: string, label: string, style: TextInputStyle) =>
      new LabelBuilder().setLabel(label).setTextInputComponent(
        new TextInputBuilder()
          .setCustomId(id)
          .setStyle(style)
          .setRequired(id !== 'headers'),
      );
    return new ModalBuilder()
      .setCustomId(MCP_FORM)
      .setTitle('An MCP server for this server')
      .addLabelComponents(
        field('name', 'A short name', TextInputStyle.Short),
        field('url', 'Its address', TextInputStyle.Short),
        field('headers', 'Headers, one per line', TextInputStyle.Paragraph),
      );
  },
  async submit(parts, interaction) {
    const { guildId, guild, fields, memberPermissions } = interaction;
    if (guildId === null || !memberPermissions?.has(PermissionFlagsBits.ManageGuild)) return 'That is only for admins.';
    const name = fields.getTextInputValue('name').trim();
    if (!SERVER_NAME.test(name)) return 'A name has 1 to 32 letters, digits, _ and -. Nothing was changed.';
    if (Object.hasOwn(parts.options.mcpServers ?? {}, name)) {
      return `\`${name}\` is an MCP server of the operator. Choose another name. Nothing was changed.`;
    }
    const server = readGuildServer({
      url: fields.getTextInputValue('url').trim(),
      headers: fields.getTextInputValue('headers'),
      hosts: parts.options.mcpHosts ?? [],
    });
    const settings = await parts.settings.change(guildId, ({ mcpServers }) => {
      mcpServers[name] = server;
    });
    return shownSettings(parts, { guild, settings });
  },
  async complete(parts, interaction) {
    const { models, mcpServers } = await parts.settings.of(interaction.guildId);
    const isModel = interaction.options.getSubcommand() === 'model';
    const names = isModel ? new Set([...parts.models.names, ...models]) : Object.keys(mcpServers);
    return [...names].map((name) => ({ name, value: name }));
  },
};

interface Wanted extends Pick<ChatInputCommandInteraction, 'options'> {
  models: Models;
}

function change(settings: GuildSettings, { options, models }: Wanted): void {
  const toggled = (list: readonly string[], item: string) => {
    const others = list.filter((other) => other !== item);
    return options.getBoolean('remove') ? others : [...others, item];
  };
  switch (options.getSubcommand()) {
    case 'channel':
      settings.channels = toggled(settings.channels, options.getChannel('channel', true).id);
      break;
    case 'role':
      settings.roles = toggled(settings.roles, options.getRole('role', true).id);
      break;
    case 'profile': {
      const profile = options.getString('profile') ?? '';
      const role = options.getRole('role');
      if (role && options.getBoolean('remove')) delete settings.profiles[role.id];
      else if (!isProfile(profile))
        throw new DiscordBotError('REFUSED', 'Choose a profile, or a role and `remove`. Nothing was changed.');
      else if (role) settings.profiles[role.id] = profile;
      else settings.profile = profile;
      break;
    }
    case 'model': {
      const name = options.getString('name', true);
      const isKnown = models.has(name) || (options.getBoolean('remove') && settings.models.includes(name));
      if (!isKnown) throw new DiscordBotError('REFUSED', `There is no model \`${name}\`. Nothing was changed.`);
      settings.models = toggled(settings.models, name);
      break;
    }
    case 'clear': {
      const what = options.getString('what', true);
      if (what === 'profiles') settings.profiles = {};
      else if (what === 'channels' || what === 'roles' || what === 'models') settings[what] = [];
      break;
    }
    case 'mcp-remove': {
      const name = options.getString('name', true);
      if (!Object.hasOwn(settings.mcpServers, name))
        throw new DiscordBotError(
          'REFUSED',
          `This server brought no MCP server \`${name}\` along. Nothing was changed.`,
        );
      delete settings.mcpServers[name];
      break;
    }
    case 'budget': {
      const { guildUsd, userUsd } = settings.budget;
      const [server, person] = [options.getNumber('server'), options.getNumber('person')];
      const isEmpty = server === null && person === null;
      settings.budget = isEmpty ? {} : { guildUsd: server ?? guildUsd, userUsd: person ?? userUsd };
      break;
    }
    case 'conversations':
      settings.scope = options.getString('scope', true) === 'user' ? 'user' : 'channel';
      settings.summaries = options.getBoolean('summaries') ?? settings.summaries;
      break;
  }
}

function isProfile(name: string): name is ProfileName {
  return Object.hasOwn(profiles, name);
}
