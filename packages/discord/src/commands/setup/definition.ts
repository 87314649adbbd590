// The subcommands and options of /setup.
import { PermissionFlagsBits, SlashCommandBuilder } from 'discord.js';
import { profiles } from 'pocket-agent';
import { guildInstall, onlyGuilds } from '../command.ts';

const profileChoices = Object.keys(profiles).map((name) => ({ name, value: name }));

export const definition = new SlashCommandBuilder()
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
      .setDescription('Dollars per day; an omitted value stays, and without values the limits are removed')
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
