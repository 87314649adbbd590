// /setup: the settings of a guild.
import { LabelBuilder, ModalBuilder, PermissionFlagsBits, TextInputBuilder, TextInputStyle } from 'discord.js';
import { parseGuildServer } from '../../toolbox/mcp-servers.ts';
import type { ChatCommand } from '../command.ts';
import { changeSettings } from './changes.ts';
import { definition } from './definition.ts';
import { settingsText } from './settings-text.ts';

const MCP_FORM = 'setup:mcp';
const SERVER_NAME = /^[a-zA-Z0-9_-]{1,32}$/;
const ADMINS_ONLY = 'Only admins can use this command.';

export const setupCommand: ChatCommand = {
  name: 'setup',
  definition,
  async run(parts, interaction) {
    const { guildId } = interaction;
    if (guildId === null) return 'This command works only in servers.';
    // a server can show the command to anyone; changes still need the permission
    if (!interaction.memberPermissions?.has(PermissionFlagsBits.ManageGuild)) return ADMINS_ONLY;
    const removed = interaction.options.getSubcommand() === 'mcp-remove' && interaction.options.getString('name', true);
    const settings = await parts.settings.change(guildId, (current) =>
      changeSettings(current, { options: interaction.options, models: parts.models }),
    );
    if (removed) await parts.logins?.forget({ guildId, name: removed });
    return settingsText(parts, { guild: interaction.guild, settings });
  },
  modal(interaction) {
    if (interaction.options.getSubcommand() !== 'mcp') return undefined;
    const field = (id: string, label: string, style: TextInputStyle) =>
      new LabelBuilder().setLabel(label).setTextInputComponent(
        new TextInputBuilder()
          .setCustomId(id)
          .setStyle(style)
          .setRequired(id === 'name' || id === 'url'),
      );
    return new ModalBuilder()
      .setCustomId(MCP_FORM)
      .setTitle('MCP server for this server')
      .addLabelComponents(
        field('name', 'Short name', TextInputStyle.Short),
        field('url', 'URL', TextInputStyle.Short),
        field('headers', 'Headers, one per line', TextInputStyle.Paragraph),
        field('login', 'OAuth login of members: yes, or a scope', TextInputStyle.Short),
      );
  },
  async submit(parts, interaction) {
    const { guildId, guild, fields, memberPermissions } = interaction;
    if (guildId === null || !memberPermissions?.has(PermissionFlagsBits.ManageGuild)) return ADMINS_ONLY;
    const name = fields.getTextInputValue('name').trim();
    if (!SERVER_NAME.test(name)) return 'The name must have 1 to 32 letters, digits, _ or -. Nothing was changed.';
    if (Object.hasOwn(parts.options.mcpServers ?? {}, name)) {
      return `\`${name}\` is the name of an MCP server of the operator. Choose another name. Nothing was changed.`;
    }
    const server = parseGuildServer({
      url: fields.getTextInputValue('url').trim(),
      headers: fields.getTextInputValue('headers'),
      login: fields.getTextInputValue('login'),
      hosts: parts.options.mcpHosts ?? [],
    });
    if (server.login !== undefined && !parts.logins)
      return 'The operator of this bot has not set up logins (POCKET_DISCORD_LOGIN_KEY). Nothing was changed.';
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
