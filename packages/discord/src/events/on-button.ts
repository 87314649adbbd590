// Stop, Regenerate, Allow, Deny, and the buttons of /sweep.
import { type ButtonInteraction, MessageFlags } from 'discord.js';
import { claimOfApproval } from '../access/approvals.ts';
import type { QuestionQueue } from '../answers/question-queue.ts';
import { regenerationChain } from '../answers/question-source.ts';
import { isMemberAllowed, NOT_ALLOWED_HERE } from '../commands/command.ts';
import { loginForm } from '../commands/login.ts';
import { sweep } from '../commands/sweep.ts';
import type { BotParts } from '../conversation/parts.ts';
import { QUEUED_TEXT } from '../conversation/queue-notices.ts';
import { exceededLimit } from '../conversation/rate-limits.ts';
import { RunBudget } from '../conversation/run-budget.ts';
import { readButton } from '../reply/buttons.ts';

export async function onButton(parts: BotParts, queue: QuestionQueue, interaction: ButtonInteraction): Promise<void> {
  const button = readButton(interaction.customId);
  if (!button) return;
  const { action, subject } = button;
  switch (action) {
    case 'stop':
      return stop(parts, { interaction, claim: subject });
    case 'again':
      return regenerate(parts, { queue, interaction, of: subject });
    case 'allow':
    case 'deny':
      if (await parts.approvals.handleButton(interaction, { id: subject, allowed: action === 'allow' })) return;
      return answerUnknown(parts, { interaction, claim: claimOfApproval(subject) });
    case 'login':
      await interaction.showModal(loginForm(subject));
      return;
    case 'sweep':
    case 'keep':
      return sweep(parts, interaction, { isSure: action === 'sweep', resetPreferences: subject === 'all' });
  }
}

interface ButtonPress {
  interaction: ButtonInteraction;
  claim: string;
}

/** Stops a running answer, or cancels a queued question. */
async function stop(parts: BotParts, { interaction, claim }: ButtonPress): Promise<void> {
  const { claims, runs } = parts;
  const waiting = runs.get(claim) ? undefined : await claims.get(claim);
  const userId = waiting?.state === 'queued' ? waiting.user_id : runs.get(claim)?.userId;
  if (userId === undefined) return answerUnknown(parts, { interaction, claim });
  const mayStop = interaction.user.id === userId || interaction.memberPermissions?.has('ManageMessages');
  if (!mayStop) return replyNotAllowed(interaction, userId, 'stop this');
  if (await claims.cancel(claim)) {
    const content = interaction.message.content.replace(QUEUED_TEXT, '-# Stopped.');
    await interaction.update({ content, components: [] });
    return;
  }
  runs.get(claim)?.stop();
  await interaction.deferUpdate();
}

async function answerUnknown(parts: BotParts, { interaction, claim }: ButtonPress): Promise<void> {
  const stored = parts.runs.get(claim) ? undefined : await parts.claims.get(claim);
  // another process writes that answer and receives this click too
  if (stored?.state !== 'running' && stored?.state !== 'acting') await replyExpired(interaction);
}

interface RegenerateRequest {
  queue: QuestionQueue;
  interaction: ButtonInteraction;
  of: string;
}

async function regenerate(parts: BotParts, { queue, interaction, of }: RegenerateRequest): Promise<void> {
  const { claims } = parts;
  const claim = await claims.get(of);
  if (!claim || !(await regenerationChain(parts, claim))) return replyExpired(interaction);
  if (claim.user_id !== interaction.user.id)
    return replyNotAllowed(interaction, claim.user_id, 'regenerate this answer');
  if (!(await isMemberAllowed(parts, interaction))) return replyPrivately(interaction, NOT_ALLOWED_HERE);
  if (!(await claims.isNewest(claim))) {
    return replyPrivately(interaction, 'Only the newest answer of a conversation can be regenerated.');
  }
  const { conversation, channel_id, guild_id, user_id } = claim;
  const place = { userId: user_id, guildId: guild_id, channelId: channel_id };
  const runBudget = new RunBudget(parts, { spender: place, settings: await parts.settings.get(guild_id) });
  const refusal = (await exceededLimit(parts, place))?.reason ?? (await runBudget.refusal());
  if (refusal !== undefined) return replyPrivately(interaction, refusal);
  await interaction.deferUpdate();
  if (await claims.addRegeneration(interaction.id, claim)) queue.process(conversation);
}

function replyNotAllowed(interaction: ButtonInteraction, userId: string, what: string): Promise<void> {
  return replyPrivately(interaction, `Only <@${userId}> can ${what}.`);
}

function replyExpired(interaction: ButtonInteraction): Promise<void> {
  return replyPrivately(interaction, 'This button has expired.');
}

async function replyPrivately(interaction: ButtonInteraction, content: string): Promise<void> {
  await interaction.reply({ content, flags: MessageFlags.Ephemeral });
}
