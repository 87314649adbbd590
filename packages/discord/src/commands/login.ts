// /login: a member logs in to an MCP server of the guild with OAuth. The page sends the member back to an address of their own
// machine, where nothing answers; they paste it here. Only this member can use the code in it.

import { errorText } from '@pocket-agent/kit';
import {
  type ChatInputCommandInteraction,
  LabelBuilder,
  ModalBuilder,
  SlashCommandBuilder,
  TextInputBuilder,
  TextInputStyle,
} from 'discord.js';
import { DiscordBotError } from '../base/errors.ts';
import type { BotParts } from '../conversation/parts.ts';
import { buttons } from '../reply/buttons.ts';
import type { GuildSettings } from '../store/guild-settings.ts';
import { type ChatCommand, type CommandAnswer, commandPlace, guildInstall, onlyGuilds } from './command.ts';

const ADDRESS = 'address';
const MAX_ADDRESS = 4_000;

export const loginCommand: ChatCommand = {
  name: 'login',
  needsAccess: true,
  definition: new SlashCommandBuilder()
    .setName('login')
    .setDescription('Log in to an MCP server of this server with your own account')
    .setContexts(onlyGuilds)
    .setIntegrationTypes(guildInstall)
    .addStringOption((option) =>
      option.setName('server').setDescription('The MCP server').setRequired(true).setAutocomplete(true),
    )
    .addBooleanOption((option) => option.setName('logout').setDescription('Log out instead'))
    .toJSON(),
  async run(parts, interaction) {
    const name = interaction.options.getString('server', true);
    const login = await loginOf(parts, interaction, name);
    if (interaction.options.getBoolean('logout')) {
      await login.end();
      return `You are logged out of \`${name}\`.`;
    }
    const page = await login.begin();
    return page ? instructions(name, page) : `You are logged in to \`${name}\` already.`;
  },
  async submit(parts, interaction) {
    const name = interaction.customId.slice('login:'.length);
    const typed = interaction.fields.getTextInputValue(ADDRESS).trim();
    const back = URL.parse(typed);
    if (!back?.searchParams.has('code') && !back?.searchParams.has('error'))
      return 'That is not the address that the page sent you to. It begins with http://127.0.0.1 and has a code. Press the button again.';
    const login = await loginOf(parts, interaction, name);
    try {
      await login.finish(back);
    } catch (error) {
      parts.logger.warn('A login at an MCP server failed', { server: name, reason: errorText(error) });
      return `The login at \`${name}\` failed. Start again with \`/login\`.`;
    }
    return `You are logged in to \`${name}\`. Its tools work with your account, only for you.`;
  },
  async autocomplete(parts, interaction) {
    const { settings } = await commandPlace(parts, interaction);
    return serversWithLogin(settings).map((name) => ({ name, value: name }));
  },
};

/** The form in which a member pastes the address. */
export function loginForm(name: string): ModalBuilder {
  const input = new TextInputBuilder()
    .setCustomId(ADDRESS)
    .setStyle(TextInputStyle.Paragraph)
    .setMaxLength(MAX_ADDRESS);
  const label = new LabelBuilder().setLabel('The address that the page sent you to').setTextInputComponent(input);
  return new ModalBuilder().setCustomId(`login:${name}`).setTitle(`Login at ${name}`).addLabelComponents(label);
}

async function loginOf(
  parts: BotParts,
  interaction: Pick<ChatInputCommandInteraction, 'guildId'> & Parameters<typeof commandPlace>[1],
  name: string,
) {
  const { guildId, userId, settings } = await commandPlace(parts, interaction);
  const server = Object.hasOwn(settings.mcpServers, name) ? settings.mcpServers[name] : undefined;
  const login = guildId !== null && server ? parts.servers.loginOf({ guildId, userId, name, server }) : undefined;
  if (login) return login;
  const names = serversWithLogin(settings).map((each) => `\`${each}\``);
  throw new DiscordBotError(
    'REFUSED',
    `No login is needed at \`${name.slice(0, 100)}\`. Servers with a login: ${names.join(', ') || 'none'}.`,
  );
}

function serversWithLogin({ mcpServers }: GuildSettings): string[] {
  return Object.entries(mcpServers).flatMap(([name, { login }]) => (login === undefined ? [] : name));
}

function instructions(name: string, page: URL): CommandAnswer {
  const content = [
    `1. Open <${page.href}> and log in.`,
    '2. The page sends you to an address that begins with http://127.0.0.1. Your browser cannot open it: copy it.',
    '3. Press the button and paste it. It works once, for five minutes, and only for you.',
  ].join('\n');
  return { content, components: buttons(['login'], name) };
}
