// /model: the model of this conversation. One that cannot be used is refused before it is kept.
import { SlashCommandBuilder } from 'discord.js';
import { type ChatCommand, everywhere, hereOf, installed } from './command.ts';

export const modelCommand: ChatCommand = {
  name: 'model',
  forMembers: true,
  definition: new SlashCommandBuilder()
    .setName('model')
    .setDescription('Shows or changes the model of this conversation')
    .setContexts(everywhere)
    .setIntegrationTypes(installed)
    .addStringOption((option) => option.setName('name').setDescription('Which model').setAutocomplete(true))
    .toJSON(),
  async run(parts, interaction) {
    const { conversation, settings } = await hereOf(parts, interaction);
    const allowed = parts.models.allowed(settings);
    const list = allowed.map(({ name }) => `\`${name}\``).join(', ');
    const { model } = await parts.history.preferences(conversation);
    const current = parts.models.pick(model, settings).name;
    const wanted = interaction.options.getString('name');
    if (wanted === null) return `This conversation uses \`${current}\`. There are ${list}.`;
    const typed = wanted.trim().toLowerCase();
    const choice =
      allowed.find(({ name }) => name === wanted) ?? allowed.find(({ name }) => name.toLowerCase() === typed);
    if (!choice) return `There is no model \`${wanted.slice(0, 100)}\` here. There are ${list}. Nothing was changed.`;
    await parts.models.check(choice);
    await parts.history.prefer(conversation, { model: choice.name });
    return `This conversation uses \`${choice.name}\` from now on, and goes on where it is.`;
  },
  async complete(parts, interaction) {
    const { settings } = await hereOf(parts, interaction);
    return parts.models.allowed(settings).map(({ name }) => ({ name, value: name }));
  },
};
