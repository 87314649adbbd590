// The buttons under answers and questions, and what their ids mean.
import { ActionRowBuilder, ButtonBuilder, ButtonStyle } from 'discord.js';

export type ButtonAction = 'stop' | 'again' | 'allow' | 'deny' | 'sweep' | 'keep';

const looks: Record<ButtonAction, { label: string; style: ButtonStyle }> = {
  stop: { label: 'Stop', style: ButtonStyle.Secondary },
  again: { label: 'Regenerate', style: ButtonStyle.Secondary },
  allow: { label: 'Allow', style: ButtonStyle.Success },
  deny: { label: 'Deny', style: ButtonStyle.Danger },
  sweep: { label: 'Forget it all', style: ButtonStyle.Danger },
  keep: { label: 'Keep it', style: ButtonStyle.Secondary },
};

export function buttons(actions: readonly ButtonAction[], about: string): ActionRowBuilder<ButtonBuilder>[] {
  const made = actions.map((action) =>
    new ButtonBuilder().setCustomId(`${action}:${about}`).setLabel(looks[action].label).setStyle(looks[action].style),
  );
  return made.length > 0 ? [new ActionRowBuilder<ButtonBuilder>().addComponents(made)] : [];
}

export function readButton(customId: string): { action: ButtonAction; about: string } | undefined {
  const [action = '', about = ''] = customId.split(':', 2);
  return isAction(action) ? { action, about } : undefined;
}

function isAction(text: string): text is ButtonAction {
  return Object.hasOwn(looks, text);
}
