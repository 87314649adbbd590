// /help
import { SlashCommandBuilder } from 'discord.js';
import { help } from '../reply/texts.ts';
import { type ChatCommand, everyInstall, everywhere } from './command.ts';

export const helpCommand: ChatCommand = {
  name: 'help',
  definition: new SlashCommandBuilder()
    .setName('help')
    .setDescription('Show what I can do')
    .setContexts(everywhere)
    .setIntegrationTypes(everyInstall)
    .toJSON(),
  run: async ({ client }) => help(client.user.username),
};
