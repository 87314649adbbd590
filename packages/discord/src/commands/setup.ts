// /setup: the settings of a guild.
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
import { parseGuildServer } from '../toolbox/mcp-servers.ts';
import { type ChatCommand, guildInstall, onlyGuilds } from './command.ts';
import { settingsText } from './settings-text.ts';

const profileChoices = Object.keys(profiles).map((name) => ({ name, value: name }));
const MCP_FORM = 'setup:mcp';
const SERVER_NAME = /^[a-zA-Z0-9_-]{1,32}$/;

const definition = new SlashCommandBuilder()
  .setName('setup')
  .setDescription('Configure me in this server')
  .setContexts(onlyGuilds)
  .setIntegrationTypes(guildInstall)
  .setDefaultMemberPermissions(PermissionFlagsBits.ManageGuild)
  .addSubcommand((sub) => sub.setName('show').setDescription('Show all settings'))
  .addSubcommand((sub) =>
    sub
      .setName('channel')
      .setDescription('Answer only in chosen channels')
      .addChannelOption((option) => option.setName('channel').setDescription('The channel').setRequired(true))
      .addBooleanOption((option) => option.setName('remove').setDescription('Remove it from the list')),
  )
  .addSubcommand((sub) =>
    sub
      .setName('role')
      .setDescription('Answer only chosen roles')
      .addRoleOption((option) => option.setName('role').setDescription('The role').setRequired(true))
      .addBooleanOption((option) => option.setName('remove').setDescription('Remove it from the list')),
  )
  .addSubcommand((sub) =>
    sub
      .setName('profile')
      .setDescription('Set which tools a role may use')
      .addStringOption((option) =>
        option.setName('profile').setDescription('The access profile').addChoices(profileChoices),
      )
      .addRoleOption((option) => option.setName('role').setDescription('The role; leave empty for all other members'))
      .addBooleanOption((option) => option.setName('remove').setDescription('Remove the profile of the role')),
  )
  .addSubcommand((sub) =>
    sub
      .setName('model')
      .setDescription('Allow only chosen models')
      .addStringOption((option) =>
        option.setName('name').setDescription('The model').setRequired(true).setAutocomplete(true),
      )
      .addBooleanOption((option) => option.setName('remove').setDescription('Remove it from the list')),
  )
  .addSubcommand((sub) => sub.setName('mcp').setDescription('Add an MCP server'))
  .addSubcommand((sub) =>
    sub
      .setName('mcp-remove')
      .setDescription('Remove an MCP server')
      .addStringOption((option) =>
        option.setName('name').setDescription('The MCP server').setRequired(true).setAutocomplete(true),
      ),
  )
  .addSubcommand((sub) =>
    sub
      .setName('budget')
      .setDescription('Dollars per day; an omitted value stays, no value at all removes the limits')
      .addNumberOption((option) => option.setName('server').setDescription('For the whole server').setMinValue(0))
      .addNumberOption((option) => option.setName('person').setDescription('For each member').setMinValue(0)),
  )
  .addSubcommand((sub) =>
    sub
      .setName('conversations')
      .setDescription('Choose who shares a conversation')
      .addStringOption((option) =>
        option
          .setName('scope')
          .setDescription('One conversation per channel, or one per member in it')
          .setRequired(true)
          .addChoices({ name: 'channel', value: 'channel' }, { name: 'person', value: 'user' }),
      )
      .addBooleanOption((option) =>
        option.setName('summaries').setDescription('Summarize old messages instead of deleting them'),
      ),
  )
  .addSubcommand((sub) =>
    sub
      .setName('clear')
      .setDescription('Clear a list')
      .addStringOption((option) =>
        option
          .setName('what')
          .setDescription('The list')
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
    if (guildId === null) return 'This command works only in servers.';
    // a server can show the command to anyone; changes still need the permission
    if (!interaction.memberPermissions?.has(PermissionFlagsBits.ManageGuild))
      return 'Only admins can use this command.';
    const settings = await parts.settings.change(guildId, (current) =>
      change(current, { options: interaction.options, models: parts.models }),
    );
    return settingsText(parts, { guild: interaction.guild, settings });
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
      .setTitle('MCP server for this server')
      .addLabelComponents(
        field('name', 'Short name', TextInputStyle.Short),
        field('url', 'URL', TextInputStyle.Short),
        field('headers', 'Headers, one per line', TextInputStyle.Paragraph),
      );
  },
  async submit(parts, interaction) {
    const { guildId, guild, fields, memberPermissions } = interaction;
    if (guildId === null || !memberPermissions?.has(PermissionFlagsBits.ManageGuild))
      return 'Only admins can use this command.';
    const name = fields.getTextInputValue('name').trim();
    if (!SERVER_NAME.test(name)) return 'The name must have 1 to 32 letters, digits, _ or -. Nothing was changed.';
    if (Object.hasOwn(parts.options.mcpServers ?? {}, name)) {
      return `\`${name}\` is the name of an MCP server of the operator. Choose another name. Nothing was changed.`;
    }
    const server = parseGuildServer({
      url: fields.getTextInputValue('url').trim(),
      headers: fields.getTextInputValue('headers'),
      hosts: parts.options.mcpHosts ?? [],
    });
    const settings = await parts.settings.change(guildId, ({ mcpServers }) => {
      mcpServers[name] = server;
    });
    return settingsText(parts, { guild, settings });
  },
  async autocomplete(parts, interaction) {
    const { models, mcpServers } = await parts.settings.get(interaction.guildId);
    const isModel = interaction.options.getSubcommand() === 'model';
    const names = isModel ? new Set([...parts.models.names, ...models]) : Object.keys(mcpServers);
    return [...names].map((name) => ({ name, value: name }));
  },
};

interface SetupInput extends Pick<ChatInputCommandInteraction, 'options'> {
  models: Models;
}

function change(settings: GuildSettings, { options, models }: SetupInput): void {
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
        throw new DiscordBotError(
          'REFUSED',
          'Choose a profile, or a role together with `remove`. Nothing was changed.',
        );
      else if (role) settings.profiles[role.id] = profile;
      else settings.profile = profile;
      break;
    }
    case 'model': {
      const name = options.getString('name', true);
      const isKnown = models.has(name) || (options.getBoolean('remove') && settings.models.includes(name));
      if (!isKnown) throw new DiscordBotError('REFUSED', `Unknown model \`${name}\`. Nothing was changed.`);
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
        throw new DiscordBotError('REFUSED', `This server has no MCP server \`${name}\`. Nothing was changed.`);
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
