// /model: shows or changes the model of a conversation.
import { SlashCommandBuilder } from 'discord.js';
import { type ChatCommand, commandPlace, everyInstall, everywhere } from './command.ts';

export const modelCommand: ChatCommand = {
  name: 'model',
  needsAccess: true,
  definition: new SlashCommandBuilder()
    .setName('model')
    .setDescription('Show or change the model of this conversation')
    .setContexts(everywhere)
    .setIntegrationTypes(everyInstall)
    .addStringOption((option) => option.setName('name').setDescription('Name of the model').setAutocomplete(true))
    .toJSON(),
  async run(parts, interaction) {
    const { conversation, settings } = await commandPlace(parts, interaction);
    const allowed = parts.models.allowed(settings);
    const list = allowed.map(({ name }) => `\`${name}\``).join(', ');
    const { model } = await parts.history.preferences(conversation);
    const current = parts.models.pick(model, settings).name;
    const typed = interaction.options.getString('name');
    if (typed === null) return `This conversation uses \`${current}\`. Available: ${list}.`;
    const lowerCase = typed.trim().toLowerCase();
    const choice =
      allowed.find(({ name }) => name === typed) ?? allowed.find(({ name }) => name.toLowerCase() === lowerCase);
    if (!choice) return `Unknown model \`${typed.slice(0, 100)}\`. Available: ${list}. Nothing was changed.`;
    await parts.models.check(choice);
    await parts.history.setPreferences(conversation, { model: choice.name });
    return `This conversation now uses \`${choice.name}\` and continues.`;
  },
  async autocomplete(parts, interaction) {
    const { settings } = await commandPlace(parts, interaction);
    return parts.models.allowed(settings).map(({ name }) => ({ name, value: name }));
  },
};
