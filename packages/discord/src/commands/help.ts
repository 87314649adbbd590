// /help
import { SlashCommandBuilder } from 'discord.js';
import { help } from '../reply/texts.ts';
import { type ChatCommand, everywhere, installed } from './command.ts';

export const helpCommand: ChatCommand = {
  name: 'help',
  definition: new SlashCommandBuilder()
    .setName('help')
    .setDescription('What I can do')
    .setContexts(everywhere)
    .setIntegrationTypes(installed)
    .toJSON(),
  run: async ({ client }) => help(client.user.username),
};
