// The buttons below answers and approval requests, and their custom ids.
import { ActionRowBuilder, ButtonBuilder, ButtonStyle } from 'discord.js';

export type ButtonAction = 'stop' | 'again' | 'allow' | 'deny' | 'sweep' | 'keep' | 'login';

const styles: Record<ButtonAction, { label: string; style: ButtonStyle }> = {
  stop: { label: 'Stop', style: ButtonStyle.Secondary },
  again: { label: 'Regenerate', style: ButtonStyle.Secondary },
  allow: { label: 'Allow', style: ButtonStyle.Success },
  deny: { label: 'Deny', style: ButtonStyle.Danger },
  sweep: { label: 'Delete', style: ButtonStyle.Danger },
  login: { label: 'Paste the address', style: ButtonStyle.Primary },
  keep: { label: 'Keep', style: ButtonStyle.Secondary },
};

export function buttons(actions: readonly ButtonAction[], subject: string): ActionRowBuilder<ButtonBuilder>[] {
  const built = actions.map((action) =>
    new ButtonBuilder()
      .setCustomId(`${action}:${subject}`)
      .setLabel(styles[action].label)
      .setStyle(styles[action].style),
  );
  return built.length > 0 ? [new ActionRowBuilder<ButtonBuilder>().addComponents(built)] : [];
}

export function readButton(customId: string): { action: ButtonAction; subject: string } | undefined {
  const [action = '', subject = ''] = customId.split(':', 2);
  return isAction(action) ? { action, subject } : undefined;
}

function isAction(text: string): text is ButtonAction {
  return Object.hasOwn(styles, text);
}
