// /sweep: forgets this conversation, after asking.
import { type BaseInteraction, type ButtonInteraction, PermissionFlagsBits, SlashCommandBuilder } from 'discord.js';
import type { BotParts } from '../conversation/parts.ts';
import { buttons } from '../reply/buttons.ts';
import { type ChatCommand, everywhere, type Here, hereOf, installed } from './command.ts';

const NOT_YOURS =
  'This conversation is that of all in this channel. Only members who may manage messages can make me forget it.';

export const sweepCommand: ChatCommand = {
  name: 'sweep',
  forMembers: true,
  definition: new SlashCommandBuilder()
    .setName('sweep')
    .setDescription('Forgets this conversation')
    .setContexts(everywhere)
    .setIntegrationTypes(installed)
    .addBooleanOption((option) =>
      option.setName('reset_prefs').setDescription('Also forgets which model and tools were chosen'),
    )
    .toJSON(),
  async run(parts, interaction) {
    const here = await hereOf(parts, interaction);
    if (!maySweep(here, interaction)) return NOT_YOURS;
    const { conversation, settings, guildId } = here;
    const count = (await parts.history.turns(conversation)).length;
    const about = interaction.options.getBoolean('reset_prefs') ? 'all' : 'history';
    const whose =
      guildId === null
        ? 'our direct messages'
        : settings.scope === 'user'
          ? 'yours in this channel'
          : 'of all in this channel';
    const questions = count === 1 ? '1 question' : `${count} questions`;
    return {
      content: `Shall I forget this conversation (${whose}, ${questions})? That cannot be undone.`,
      components: buttons(['sweep', 'keep'], about),
    };
  },
};

export async function sweep(
  parts: BotParts,
  interaction: ButtonInteraction,
  { isSure, resetPreferences }: { isSure: boolean; resetPreferences: boolean },
): Promise<void> {
  const here = await hereOf(parts, interaction);
  const { conversation } = here;
  if (!maySweep(here, interaction)) {
    await interaction.update({ content: NOT_YOURS, components: [] });
    return;
  }
  const isBusy = isSure && (await parts.claims.isBusy(conversation));
  if (isSure && !isBusy) await parts.history.clear(conversation, { preferences: resetPreferences });
  const content = isBusy
    ? 'I am just answering in this conversation. Stop that, or wait for it, and try again.'
    : isSure
      ? 'Forgotten.'
      : 'Nothing was forgotten.';
  await interaction.update({ content, components: [] });
}

/** What is everybody's nobody takes away but a moderator. */
function maySweep({ guildId, settings }: Here, { memberPermissions }: BaseInteraction): boolean {
  if (guildId === null || settings.scope === 'user') return true;
  return memberPermissions?.has(PermissionFlagsBits.ManageMessages) ?? false;
}
