// /skills: the instructions that the model can load in this conversation.
import { SlashCommandBuilder } from 'discord.js';
import { toolChoices } from '../conversation/tool-choices.ts';
import { quoted } from '../reply/texts.ts';
import { type ChatCommand, commandPlace, everyInstall, everywhere } from './command.ts';

export const skillsCommand: ChatCommand = {
  name: 'skills',
  needsAccess: true,
  definition: new SlashCommandBuilder()
    .setName('skills')
    .setDescription('Show the skills of this conversation')
    .setContexts(everywhere)
    .setIntegrationTypes(everyInstall)
    .toJSON(),
  async run(parts, interaction) {
    const { conversation, settings } = await commandPlace(parts, interaction);
    const ids = toolChoices(parts, settings).map(({ id }) => id);
    const { tools } = await parts.history.preferences(conversation);
    const lines = parts.catalogue.states(ids).flatMap(({ name, humanName, skill }) => {
      if (!skill) return [];
      const isOn = tools === null || tools.includes(name);
      return `- **${skill.name}** (${isOn ? 'on' : 'off'}, part of ${humanName}): ${quoted(skill.description)}`;
    });
    if (lines.length === 0) return 'There are no skills here. The operator adds them as folders with a SKILL.md.';
    return [...lines, '-# I load a skill when a question needs it. `/agent` turns its folder on and off.'].join('\n');
  },
};
