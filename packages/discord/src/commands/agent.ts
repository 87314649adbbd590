// /agent: chooses the tools of a conversation.

import { errorText, settlesWithin } from '@pocket-agent/kit';
import { ActionRowBuilder, type BaseInteraction, SlashCommandBuilder, StringSelectMenuBuilder } from 'discord.js';
import type { ProfileName } from 'pocket-agent';
import { profileOf } from '../access/profile.ts';
import type { BotParts } from '../conversation/parts.ts';
import { toolChoices } from '../conversation/tool-choices.ts';
import type { ToolChoice } from '../toolbox/catalogue.ts';
import { isHidden, unavailableFolderTools, unavailableServerTools } from '../toolbox/unavailable-tools.ts';
import {
  type ChatCommand,
  type CommandAnswer,
  type CommandPlace,
  commandPlace,
  everyInstall,
  everywhere,
} from './command.ts';

export const TOOLS_MENU = 'agent-tools';
const DISABLED = { id: 'Disabled', label: 'Disabled' };
const MAX_IN_MENU = 25;
const LIST_TOOLS_MS = 3_000;

export const agentCommand: ChatCommand = {
  name: 'agent',
  needsAccess: true,
  definition: new SlashCommandBuilder()
    .setName('agent')
    .setDescription('Choose the tools of this conversation')
    .setContexts(everywhere)
    .setIntegrationTypes(everyInstall)
    .addStringOption((option) =>
      option.setName('name').setDescription('Tools to turn on; Disabled turns all off').setAutocomplete(true),
    )
    .addBooleanOption((option) => option.setName('off').setDescription('Turn them off instead'))
    .toJSON(),
  async run(parts, interaction) {
    const place = await commandPlace(parts, interaction);
    const { choices, chosen } = await choicesOf(parts, place);
    const typed = interaction.options.getString('name');
    if (typed === null)
      return menu(choices, chosen, await unavailableTools(parts, place, { ids: chosen, interaction }));
    if (matchesName(typed, DISABLED)) return choose(parts, place, { ids: [], interaction });
    const choice =
      choices.find(({ id, label }) => id === typed || label === typed) ??
      choices.find((each) => matchesName(typed, each));
    if (!choice) return `Unknown tools \`${typed.slice(0, 100)}\`. Available: ${names(choices)}. Nothing was changed.`;
    const others = chosen.filter((id) => id !== choice.id);
    const ids = interaction.options.getBoolean('off') ? others : [...others, choice.id];
    return choose(parts, place, { ids, interaction });
  },
  async autocomplete(parts, interaction) {
    const { choices } = await choicesOf(parts, await commandPlace(parts, interaction));
    return [...choices, DISABLED].map(({ id, label }) => ({ name: label, value: id }));
  },
};

export async function pickTools(
  parts: BotParts,
  interaction: BaseInteraction,
  ids: readonly string[],
): Promise<CommandAnswer> {
  const place = await commandPlace(parts, interaction);
  const { choices, chosen } = await choicesOf(parts, place);
  // tools beyond the limit of the menu keep their state
  const unseen = choices.slice(MAX_IN_MENU).flatMap(({ id }) => (chosen.includes(id) ? id : []));
  return choose(parts, place, { ids: [...ids, ...unseen], interaction });
}

/** Ignores case; an MCP server also matches by its bare name. */
function matchesName(typed: string, { id, label }: ToolChoice): boolean {
  const wanted = typed.trim().toLowerCase();
  return [id, label, label.replace(/ \(MCP\)$/, '')].some((name) => name.toLowerCase() === wanted);
}

interface ToolSelection {
  ids: readonly string[];
  /** The interaction of the user who chooses. */
  interaction: BaseInteraction;
}

/** Explains which chosen tools this user cannot use. Does not wait for silent servers. */
async function unavailableTools(
  parts: BotParts,
  place: CommandPlace,
  { ids, interaction }: ToolSelection,
): Promise<string[]> {
  const { conversation, guildId, settings } = place;
  const profile = profileFor(place, interaction);
  const folderLines = unavailableFolderTools(parts.catalogue.states(ids), profile);
  const member = guildId === null ? undefined : { guildId, userId: place.userId };
  const servers = { ids, guild: settings.mcpServers, member };
  const { missing, ids: usable } = await parts.servers.missingLogins(servers);
  for (const name of missing) folderLines.push(`-# **${name}** needs a login: \`/login server:${name}\`.`);
  const lease = parts.servers.lease({ place: guildId ?? conversation, ...servers, ids: usable });
  if (!lease) return folderLines;
  let serverLines: string[] = [];
  const listing = unavailableServerTools(lease.client, profile)
    .then((lines) => {
      serverLines = lines;
    })
    .catch((error) => parts.logger.warn('Listing tools of MCP servers failed', { reason: errorText(error) }))
    .finally(() => lease.release());
  await settlesWithin(LIST_TOOLS_MS, listing);
  return [...folderLines, ...serverLines];
}

function profileFor({ settings }: CommandPlace, interaction: BaseInteraction): ProfileName {
  return profileOf(interaction.inCachedGuild() ? interaction.member : null, settings);
}

async function choicesOf(
  parts: BotParts,
  { conversation, settings }: CommandPlace,
): Promise<{ choices: ToolChoice[]; chosen: string[] }> {
  const choices = toolChoices(parts, settings);
  const { tools } = await parts.history.preferences(conversation);
  const selected = tools ?? choices.map(({ id }) => id);
  return { choices, chosen: selected.filter((id) => choices.some((choice) => choice.id === id)) };
}

async function choose(parts: BotParts, place: CommandPlace, chosen: ToolSelection): Promise<CommandAnswer> {
  const { ids } = chosen;
  await parts.history.setPreferences(place.conversation, { tools: [...ids] });
  const { choices } = await choicesOf(parts, place);
  const on = choices.filter(({ id }) => ids.includes(id));
  if (on.length === 0) return 'All tools are off. The conversation continues.';
  const notes = await unavailableTools(parts, place, chosen);
  const hidden = parts.catalogue
    .states(ids)
    .filter((folder) => isHidden(folder, profileFor(place, chosen.interaction)))
    .map(({ name }) => name);
  const usable = on.filter(({ id }) => !hidden.includes(id));
  const excluded = on.filter(({ id }) => hidden.includes(id));
  const lines = [
    ...(usable.length > 0 ? [`These tools are on: ${names(usable)}. The conversation continues.`] : []),
    ...(excluded.length > 0 ? [`Chosen, but not available to your profile: ${names(excluded)}.`] : []),
  ];
  return [...lines, ...notes].join('\n');
}

function menu(choices: readonly ToolChoice[], chosen: readonly string[], notes: readonly string[]): CommandAnswer {
  const shown = choices.slice(0, MAX_IN_MENU);
  if (shown.length === 0) return 'No tools are available here.';
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
  const content = ['Choose any number of tools; choose none to turn all off.', ...notes].join('\n');
  return { content, components: [row] };
}

function names(choices: readonly ToolChoice[]): string {
  return choices.map(({ label }) => `**${label}**`).join(', ') || 'none';
}
