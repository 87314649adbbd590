// Dispatches commands, menus, buttons and forms. Users see a short text for an error, without details.

import { errorText } from '@pocket-agent/kit';
import {
  AttachmentBuilder,
  type AutocompleteInteraction,
  type ChatInputCommandInteraction,
  type Interaction,
  type MessageContextMenuCommandInteraction,
  MessageFlags,
  RESTJSONErrorCodes,
} from 'discord.js';
import { isServed, NOT_SERVED } from '../access/allowlist.ts';
import type { QuestionQueue } from '../answers/question-queue.ts';
import { hasErrorCode, isClientError, isRefusal, refusalReason } from '../base/discord-errors.ts';
import { DiscordBotError } from '../base/errors.ts';
import { retry } from '../base/retry.ts';
import { pickTools, TOOLS_MENU } from '../commands/agent.ts';
import { type CommandAnswer, isMemberAllowed, NOT_ALLOWED_HERE, whereUsed } from '../commands/command.ts';
import { failureFields, failureText } from '../conversation/failure-text.ts';
import type { BotParts } from '../conversation/parts.ts';
import { refusalNote } from '../reply/answer-parts.ts';
import { inertLinks, previewFlags } from '../reply/inert-links.ts';
import { MESSAGE_LENGTH, splitMessage } from '../reply/split.ts';
import { chatCommands, messageApps } from './command-list.ts';
import { onButton } from './on-button.ts';

/** How long sending the answer of a command is retried. */
const RETRY_MS = 10_000;

/** Longer answers are sent as a file. Where the bot is not installed, Discord allows five messages after the first. */
const MAX_MORE = 4;

type Deferred = Extract<Interaction, { editReply: unknown }>;

export async function onInteraction(parts: BotParts, queue: QuestionQueue, interaction: Interaction): Promise<void> {
  try {
    if (!isServed(parts.options, { guildId: whereUsed(interaction).guildId, userId: interaction.user.id }))
      await refuse(interaction);
    else if (interaction.isAutocomplete()) await autocomplete(parts, interaction);
    else if (interaction.isButton()) await onButton(parts, queue, interaction);
    else if (interaction.isChatInputCommand()) await runCommand(parts, queue, interaction);
    else if (interaction.isMessageContextMenuCommand()) await runMessageApp(parts, interaction);
    else if (interaction.isModalSubmit()) {
      const command = chatCommands.find(({ name }) => name === interaction.customId.split(':')[0]);
      const work = async () => (await command?.submit?.(parts, interaction)) ?? 'This has expired.';
      await replyTo(parts, interaction, { isPrivate: true, work });
    } else if (interaction.isStringSelectMenu() && interaction.customId === TOOLS_MENU) {
      const isRefused = !(await isMemberAllowed(parts, interaction));
      const work = async () => (isRefused ? NOT_ALLOWED_HERE : pickTools(parts, interaction, interaction.values));
      await replyTo(parts, interaction, { isPrivate: true, work });
    }
  } catch (error) {
    // another process answered first, or the interaction has expired
    if (
      hasErrorCode(
        error,
        RESTJSONErrorCodes.InteractionHasAlreadyBeenAcknowledged,
        RESTJSONErrorCodes.UnknownInteraction,
      )
    ) {
      return;
    }
    parts.logger.error('Interaction failed', { interaction: interaction.id, reason: errorText(error) });
  }
}

async function refuse(interaction: Interaction): Promise<void> {
  if (interaction.isAutocomplete()) await interaction.respond([]);
  else await interaction.reply({ content: NOT_SERVED, flags: MessageFlags.Ephemeral });
}

async function autocomplete(parts: BotParts, interaction: AutocompleteInteraction): Promise<void> {
  const command = chatCommands.find(({ name }) => name === interaction.commandName);
  const typed = interaction.options.getFocused().toLowerCase();
  const choices = (await command?.autocomplete?.(parts, interaction)) ?? [];
  const matching = choices.filter(({ name, value }) => `${name} ${value}`.toLowerCase().includes(typed));
  await interaction.respond(matching.slice(0, 25).map(({ name, value }) => ({ name: name.slice(0, 100), value })));
}

async function runCommand(
  parts: BotParts,
  queue: QuestionQueue,
  interaction: ChatInputCommandInteraction,
): Promise<void> {
  const command = chatCommands.find(({ name }) => name === interaction.commandName);
  if (!command) return;
  const modal = command.modal?.(interaction);
  if (modal) {
    await interaction.showModal(modal);
    return;
  }
  const isRefused = command.needsAccess === true && !(await isMemberAllowed(parts, interaction));
  await replyTo(parts, interaction, {
    isPrivate: isRefused || !command.isPublic,
    repliesItself: command.repliesItself ?? false,
    work: async () => (isRefused ? NOT_ALLOWED_HERE : command.run(parts, interaction, queue)),
  });
}

async function runMessageApp(parts: BotParts, interaction: MessageContextMenuCommandInteraction): Promise<void> {
  const app = messageApps.find(({ name }) => name === interaction.commandName);
  const isRefused = !(await isMemberAllowed(parts, interaction));
  const work = async () =>
    isRefused ? NOT_ALLOWED_HERE : ((await app?.run(parts, interaction)) ?? 'This has expired.');
  await replyTo(parts, interaction, { isPrivate: true, work });
}

interface CommandWork {
  isPrivate: boolean;
  /** The work replies itself, unless it returns a refusal. */
  repliesItself?: boolean;
  work: () => Promise<CommandAnswer>;
}

/** Discord waits three seconds for an acknowledgement and 15 minutes for the answer. */
async function replyTo(
  parts: BotParts,
  interaction: Exclude<Deferred, AutocompleteInteraction>,
  { isPrivate, repliesItself = false, work }: CommandWork,
): Promise<void> {
  const defer = () => interaction.deferReply(isPrivate ? { flags: MessageFlags.Ephemeral } : {});
  if (!repliesItself) await defer();
  const answer = await work().catch(async (error): Promise<CommandAnswer> => {
    if (parts.closing.aborted) return 'I am restarting. Try again in a moment.';
    const { id } = interaction;
    const { guildId } = whereUsed(interaction);
    const command = 'commandName' in interaction ? { command: interaction.commandName } : {};
    // a typing error of a user needs no warning
    const level = error instanceof DiscordBotError && error.code === 'REFUSED' ? 'info' : 'warn';
    parts.logger[level]('Command failed', { interaction: id, ...command, ...failureFields(error) });
    const settings = await parts.settings.get(guildId).catch(() => undefined); // the database itself may have failed
    return failureText(error, { id, hasChoice: settings !== undefined && parts.models.hasChoice(settings) });
  });
  if (answer === undefined || (repliesItself && interaction.replied)) return;
  if (repliesItself) await defer();
  if (typeof answer !== 'string') {
    await interaction.editReply(answer);
    return;
  }
  const { allowLinkHosts } = parts.options;
  const [first = '-# The answer is empty.', ...more] = splitMessage(inertLinks(answer, allowLinkHosts));
  const previews = (content: string) => previewFlags(content, allowLinkHosts).flags;
  if (more.length > MAX_MORE) {
    const note = `-# The full answer has ${answer.length} characters and is in the file.`;
    const [beginning = ''] = splitMessage(first, MESSAGE_LENGTH - note.length - 2);
    const files = [new AttachmentBuilder(Buffer.from(answer), { name: 'answer.md' })];
    const content = `${beginning}\n\n${note}`;
    await interaction.editReply({ content, files, flags: previews(content) });
    return;
  }
  await sendPart(parts, first, (content) => interaction.editReply({ content, flags: previews(content) }));
  const ephemeral = isPrivate ? [MessageFlags.Ephemeral as const] : [];
  for (const part of more)
    await sendPart(parts, part, (content) =>
      interaction.followUp({ content, flags: [...previews(content), ...ephemeral] }),
    );
}

/** Retries errors of a proxy for a while; replaces what Discord refuses by a note. */
async function sendPart(parts: BotParts, content: string, send: (content: string) => Promise<unknown>): Promise<void> {
  const { closing: signal, logger } = parts;
  const isProxyError = (error: unknown) => isClientError(error) && !isRefusal(error);
  const onWait = (error: unknown) => logger.warn('Retrying: an answer', { reason: errorText(error) });
  try {
    await retry(() => send(content), { until: Date.now() + RETRY_MS, signal, onWait, shouldRetry: isProxyError });
  } catch (error) {
    if (!isClientError(error)) throw error;
    logger.warn('Discord refused an answer', { reason: errorText(error) });
    await send(refusalNote('this answer', refusalReason(error)));
  }
}
