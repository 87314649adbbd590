// /help
import { SlashCommandBuilder } from 'discord.js';
import { help } from '../reply/texts.ts';
import { type ChatCommand, guildInstall, guildsAndDms } from './command.ts';

export const helpCommand: ChatCommand = {
  name: 'help',
  definition: new SlashCommandBuilder()
    .setName('help')
    .setDescription('Show what I can do')
    .setContexts(guildsAndDms)
    .setIntegrationTypes(guildInstall)
    .toJSON(),
  run: async ({ client }) => help(client.user.username),
};
