// /agent: which tools this conversation has. Any number of them, and the conversation stays.
import { ActionRowBuilder, type BaseInteraction, SlashCommandBuilder, StringSelectMenuBuilder } from 'discord.js';
import type { BotParts } from '../parts.ts';
import type { ToolChoice } from '../toolbox/catalogue.ts';
import { type ChatCommand, type CommandAnswer, everywhere, type Here, hereOf, installed } from './command.ts';

export const TOOLS_MENU = 'agent-tools';
const DISABLED = { id: 'Disabled', label: 'Disabled' };
const MOST_IN_MENU = 25;

export const agentCommand: ChatCommand = {
  name: 'agent',
  forMembers: true,
  definition: new SlashCommandBuilder()
    .setName('agent')
    .setDescription('Chooses the tools of this conversation')
    .setContexts(everywhere)
    .setIntegrationTypes(installed)
    .addStringOption((option) =>
      option.setName('name').setDescription('Tools to switch on; Disabled for none at all').setAutocomplete(true),
    )
    .addBooleanOption((option) => option.setName('off').setDescription('Switch them off instead'))
    .toJSON(),
  async run(parts, interaction) {
    const here = await hereOf(parts, interaction);
    const { choices, chosen } = await choicesOf(parts, here);
    const wanted = interaction.options.getString('name');
    if (wanted === null) return menu(choices, chosen);
    if (wanted === DISABLED.id) return choose(parts, here, []);
    const choice = choices.find(({ id, label }) => id === wanted || label === wanted);
    if (!choice)
      return `There are no tools \`${wanted.slice(0, 100)}\`. There are ${names(choices)}. Nothing was changed.`;
    const others = chosen.filter((id) => id !== choice.id);
    return choose(parts, here, interaction.options.getBoolean('off') ? others : [...others, choice.id]);
  },
  async complete(parts, interaction) {
    const { choices } = await choicesOf(parts, await hereOf(parts, interaction));
    return [...choices, DISABLED].map(({ id, label }) => ({ name: label, value: id }));
  },
};

export async function pickTools(
  parts: BotParts,
  interaction: BaseInteraction,
  ids: readonly string[],
): Promise<CommandAnswer> {
  const here = await hereOf(parts, interaction);
  const { choices, chosen } = await choicesOf(parts, here);
  // what the menu had no room for stays as it is
  const unseen = choices.slice(MOST_IN_MENU).flatMap(({ id }) => (chosen.includes(id) ? id : []));
  return choose(parts, here, [...ids, ...unseen]);
}

async function choicesOf(
  { catalogue, servers, history }: BotParts,
  { conversation, settings }: Here,
): Promise<{ choices: ToolChoice[]; chosen: string[] }> {
  const mcp = servers.choices(settings.mcpServers);
  const choices = [...catalogue.choices, ...mcp];
  const { tools } = await history.preferences(conversation);
  const wanted = tools ?? [...catalogue.ids, ...mcp.map(({ id }) => id)];
  return { choices, chosen: wanted.filter((id) => choices.some((choice) => choice.id === id)) };
}

async function choose(parts: BotParts, here: Here, ids: readonly string[]): Promise<CommandAnswer> {
  await parts.history.prefer(here.conversation, { tools: [...ids] });
  const { choices } = await choicesOf(parts, here);
  const on = choices.filter(({ id }) => ids.includes(id));
  return on.length === 0
    ? 'All tools are off. The conversation goes on.'
    : `These tools are on: ${names(on)}. The conversation goes on.`;
}

function menu(choices: readonly ToolChoice[], chosen: readonly string[]): CommandAnswer {
  const shown = choices.slice(0, MOST_IN_MENU);
  if (shown.length === 0) return 'There are no tools here.';
  const select = new StringSelectMenuBuilder()
    .setCustomId(TOOLS_MENU)
    .setPlaceholder('No tools')
    .setMinValues(0)
    .setMaxValues(shown.length)
    .addOptions(
      shown.map(({ id, label }) => ({
        value: id.slice(0, 100),
        label: label.slice(0, 100),
        default: chosen.includes(id),
      })),
    );
  const row = new ActionRowBuilder<StringSelectMenuBuilder>().addComponents(select);
  return { content: 'Choose as many as you like; none switches all of them off.', components: [row] };
}

function names(choices: readonly ToolChoice[]): string {
  return choices.map(({ label }) => `**${label}**`).join(', ') || 'none';
}
