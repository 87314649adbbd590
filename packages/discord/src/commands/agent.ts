// /agent: which tools this conversation has. Any number of them, and the conversation stays.
import { ActionRowBuilder, type BaseInteraction, SlashCommandBuilder, StringSelectMenuBuilder } from 'discord.js';
import type { ProfileName } from 'pocket-agent';
import { profileOf } from '../access/profile.ts';
import { messageOf } from '../base/errors.ts';
import { within } from '../base/settles-within.ts';
import type { BotParts } from '../conversation/parts.ts';
import type { ToolChoice } from '../toolbox/catalogue.ts';
import { isHidden, leftOut, leftOutOfFolders } from '../toolbox/unavailable-tools.ts';
import { type ChatCommand, type CommandAnswer, everywhere, type Here, hereOf, installed } from './command.ts';

export const TOOLS_MENU = 'agent-tools';
const DISABLED = { id: 'Disabled', label: 'Disabled' };
const MOST_IN_MENU = 25;
const LOOKING_MS = 3_000;

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
    if (wanted === null) return menu(choices, chosen, await missing(parts, here, { ids: chosen, interaction }));
    if (isMeant(wanted, DISABLED)) return choose(parts, here, { ids: [], interaction });
    const choice =
      choices.find(({ id, label }) => id === wanted || label === wanted) ??
      choices.find((each) => isMeant(wanted, each));
    if (!choice)
      return `There are no tools \`${wanted.slice(0, 100)}\`. There are ${names(choices)}. Nothing was changed.`;
    const others = chosen.filter((id) => id !== choice.id);
    const ids = interaction.options.getBoolean('off') ? others : [...others, choice.id];
    return choose(parts, here, { ids, interaction });
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
  return choose(parts, here, { ids: [...ids, ...unseen], interaction });
}

/** In any case, and a server also by its bare name. */
function isMeant(wanted: string, { id, label }: ToolChoice): boolean {
  const typed = wanted.trim().toLowerCase();
  return [id, label, label.replace(/ \(MCP\)$/, '')].some((name) => name.toLowerCase() === typed);
}

interface Chosen {
  ids: readonly string[];
  /** Of the person who chooses. */
  interaction: BaseInteraction;
}

/** What the chosen folders and servers have and this person will not get. A server that is silent is not waited for. */
async function missing(parts: BotParts, here: Here, { ids, interaction }: Chosen): Promise<string[]> {
  const { conversation, guildId, settings } = here;
  const profile = profileFor(here, interaction);
  const ofFolders = leftOutOfFolders(parts.catalogue.states(ids), profile);
  const lease = parts.servers.lease({ place: guildId ?? conversation, ids, guild: settings.mcpServers });
  if (!lease) return ofFolders;
  let found: string[] = [];
  const looking = leftOut(lease.client, profile)
    .then((lines) => {
      found = lines;
    })
    .catch((error) => parts.logger.warn('Tools of MCP servers could not be listed', { reason: messageOf(error) }))
    .finally(() => lease.release());
  await within(LOOKING_MS, looking);
  return [...ofFolders, ...found];
}

/** Of the person who chooses. */
function profileFor({ settings }: Here, interaction: BaseInteraction): ProfileName {
  return profileOf(interaction.inCachedGuild() ? interaction.member : null, settings);
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

async function choose(parts: BotParts, here: Here, chosen: Chosen): Promise<CommandAnswer> {
  const { ids } = chosen;
  await parts.history.prefer(here.conversation, { tools: [...ids] });
  const { choices } = await choicesOf(parts, here);
  const on = choices.filter(({ id }) => ids.includes(id));
  if (on.length === 0) return 'All tools are off. The conversation goes on.';
  const notes = await missing(parts, here, chosen);
  const hidden = parts.catalogue
    .states(ids)
    .filter((folder) => isHidden(folder, profileFor(here, chosen.interaction)))
    .map(({ name }) => name);
  const usable = on.filter(({ id }) => !hidden.includes(id));
  const without = on.filter(({ id }) => hidden.includes(id));
  const lines = [
    ...(usable.length > 0 ? [`These tools are on: ${names(usable)}. The conversation goes on.`] : []),
    ...(without.length > 0 ? [`Chosen, but hidden from your profile: ${names(without)}.`] : []),
  ];
  return [...lines, ...notes].join('\n');
}

function menu(choices: readonly ToolChoice[], chosen: readonly string[], notes: readonly string[]): CommandAnswer {
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
  const content = ['Choose as many as you like; none switches all of them off.', ...notes].join('\n');
  return { content, components: [row] };
}

function names(choices: readonly ToolChoice[]): string {
  return choices.map(({ label }) => `**${label}**`).join(', ') || 'none';
}
