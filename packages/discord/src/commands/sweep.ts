// /sweep: deletes a conversation after a confirmation.
import { type BaseInteraction, type ButtonInteraction, PermissionFlagsBits, SlashCommandBuilder } from 'discord.js';
import type { BotParts } from '../conversation/parts.ts';
import { buttons } from '../reply/buttons.ts';
import { type ChatCommand, type CommandPlace, commandPlace, everyInstall, everywhere } from './command.ts';

const NOT_YOURS =
  'All members of this channel share this conversation. Only members who can manage messages may delete it.';

export const sweepCommand: ChatCommand = {
  name: 'sweep',
  needsAccess: true,
  definition: new SlashCommandBuilder()
    .setName('sweep')
    .setDescription('Delete this conversation')
    .setContexts(everywhere)
    .setIntegrationTypes(everyInstall)
    .addBooleanOption((option) => option.setName('reset_prefs').setDescription('Also reset the chosen model and tools'))
    .toJSON(),
  async run(parts, interaction) {
    const place = await commandPlace(parts, interaction);
    if (!maySweep(place, interaction)) return NOT_YOURS;
    const { conversation, settings, guildId } = place;
    const count = (await parts.history.turns(conversation)).length;
    const scope = interaction.options.getBoolean('reset_prefs') ? 'all' : 'history';
    const description =
      guildId === null
        ? 'our direct messages'
        : settings.scope === 'user'
          ? 'yours in this channel'
          : 'shared by this channel';
    const questions = count === 1 ? '1 question' : `${count} questions`;
    return {
      content: `Delete this conversation (${description}, ${questions})? This cannot be undone.`,
      components: buttons(['sweep', 'keep'], scope),
    };
  },
};

export async function sweep(
  parts: BotParts,
  interaction: ButtonInteraction,
  { isSure, resetPreferences }: { isSure: boolean; resetPreferences: boolean },
): Promise<void> {
  const place = await commandPlace(parts, interaction);
  const { conversation } = place;
  if (!maySweep(place, interaction)) {
    await interaction.update({ content: NOT_YOURS, components: [] });
    return;
  }
  const isBusy = isSure && (await parts.claims.isBusy(conversation));
  if (isSure && !isBusy) await parts.history.clear(conversation, { preferences: resetPreferences });
  const content = isBusy
    ? 'I am still answering in this conversation. Stop the answer or wait for it, then try again.'
    : isSure
      ? 'Conversation deleted.'
      : 'Nothing was deleted.';
  await interaction.update({ content, components: [] });
}

/** Only moderators may delete a shared conversation. */
function maySweep({ guildId, settings }: CommandPlace, { memberPermissions }: BaseInteraction): boolean {
  if (guildId === null || settings.scope === 'user') return true;
  return memberPermissions?.has(PermissionFlagsBits.ManageMessages) ?? false;
}
