// Stop, Regenerate, Allow, Deny, and the buttons of /sweep.
import { type ButtonInteraction, MessageFlags } from 'discord.js';
import { claimOfQuestion } from '../access/approvals.ts';
import type { Queue } from '../answers/question-queue.ts';
import { chainOf } from '../answers/question-source.ts';
import { isWelcome, NOT_HERE } from '../commands/command.ts';
import { sweep } from '../commands/sweep.ts';
import type { BotParts } from '../conversation/parts.ts';
import { QUEUED } from '../conversation/queue-notices.ts';
import { overLimit } from '../conversation/rate-limits.ts';
import { Purse } from '../conversation/run-budget.ts';
import { readButton } from '../reply/buttons.ts';

export async function onButton(parts: BotParts, queue: Queue, interaction: ButtonInteraction): Promise<void> {
  const button = readButton(interaction.customId);
  if (!button) return;
  const { action, about } = button;
  switch (action) {
    case 'stop':
      return stop(parts, { interaction, claim: about });
    case 'again':
      return again(parts, { queue, interaction, of: about });
    case 'allow':
    case 'deny':
      if (await parts.approvals.press(interaction, { id: about, allowed: action === 'allow' })) return;
      return notOurs(parts, { interaction, claim: claimOfQuestion(about) });
    case 'sweep':
    case 'keep':
      return sweep(parts, interaction, { isSure: action === 'sweep', resetPreferences: about === 'all' });
  }
}

interface Pressed {
  interaction: ButtonInteraction;
  claim: string;
}

/** What runs is ended, and what waits is never begun. */
async function stop(parts: BotParts, { interaction, claim }: Pressed): Promise<void> {
  const { claims, runs } = parts;
  const waiting = runs.get(claim) ? undefined : await claims.get(claim);
  const userId = waiting?.state === 'queued' ? waiting.user_id : runs.get(claim)?.userId;
  if (userId === undefined) return notOurs(parts, { interaction, claim });
  const mayStop = interaction.user.id === userId || interaction.memberPermissions?.has('ManageMessages');
  if (!mayStop) return only(interaction, userId, 'stop this');
  if (await claims.cancel(claim)) {
    const { message } = interaction;
    await message.edit({ content: message.content.replace(QUEUED, '-# Stopped.'), components: [] });
  } else runs.get(claim)?.stop();
  await interaction.deferUpdate();
}

async function notOurs(parts: BotParts, { interaction, claim }: Pressed): Promise<void> {
  const known = parts.runs.get(claim) ? undefined : await parts.claims.get(claim);
  // another process writes that answer, and has got this click too
  if (known?.state !== 'running' && known?.state !== 'acting') await isOld(interaction);
}

interface Wanted {
  queue: Queue;
  interaction: ButtonInteraction;
  of: string;
}

async function again(parts: BotParts, { queue, interaction, of }: Wanted): Promise<void> {
  const { claims } = parts;
  const claim = await claims.get(of);
  if (!claim || !(await chainOf(parts, claim))) return isOld(interaction);
  if (claim.user_id !== interaction.user.id) return only(interaction, claim.user_id, 'ask for that again');
  if (!(await isWelcome(parts, interaction))) return tell(interaction, NOT_HERE);
  if (!(await claims.isNewest(claim))) {
    return tell(interaction, 'Only the newest answer of a conversation can be regenerated.');
  }
  const { conversation, channel_id, guild_id, user_id } = claim;
  const place = { userId: user_id, guildId: guild_id, channelId: channel_id };
  const purse = new Purse(parts, { spender: place, settings: await parts.settings.of(guild_id) });
  const refusal = (await overLimit(parts, place))?.reason ?? (await purse.refusal());
  if (refusal !== undefined) return tell(interaction, refusal);
  await interaction.deferUpdate();
  if (await claims.addAgain(interaction.id, claim)) queue.work(conversation);
}

function only(interaction: ButtonInteraction, userId: string, what: string): Promise<void> {
  return tell(interaction, `Only <@${userId}> can ${what}.`);
}

function isOld(interaction: ButtonInteraction): Promise<void> {
  return tell(interaction, 'This is over.');
}

async function tell(interaction: ButtonInteraction, content: string): Promise<void> {
  await interaction.reply({ content, flags: MessageFlags.Ephemeral });
}
