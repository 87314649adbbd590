// Commands, menus, buttons and forms find their handlers. What fails is told to the person, without details.
import {
  type AutocompleteInteraction,
  type ChatInputCommandInteraction,
  type Interaction,
  type MessageContextMenuCommandInteraction,
  MessageFlags,
  RESTJSONErrorCodes,
} from 'discord.js';
import { isServed, NOT_SERVED } from '../access/allowlist.ts';
import type { Queue } from '../answers/question-queue.ts';
import { isClientError, isCode, isRefusal, refusalReason } from '../base/discord-errors.ts';
import { DiscordBotError, messageOf } from '../base/errors.ts';
import { tryAgain } from '../base/retry.ts';
import { pickTools, TOOLS_MENU } from '../commands/agent.ts';
import { type CommandAnswer, isWelcome, NOT_HERE } from '../commands/command.ts';
import { chatCommands, messageApps } from '../commands/command-list.ts';
import { failureText, reasonOf } from '../conversation/failure-text.ts';
import type { BotParts } from '../conversation/parts.ts';
import { refusedNote } from '../reply/answer-parts.ts';
import { inertLinks, previewFlags } from '../reply/inert-links.ts';
import { splitMessage } from '../reply/split.ts';
import { onButton } from './on-button.ts';

/** How long the answer of a command is sent again. */
const SHOWN_MS = 10_000;

type Deferred = Extract<Interaction, { editReply: unknown }>;

export async function onInteraction(parts: BotParts, queue: Queue, interaction: Interaction): Promise<void> {
  try {
    if (!isServed(parts.options, { guildId: interaction.guildId, userId: interaction.user.id }))
      await sendAway(interaction);
    else if (interaction.isAutocomplete()) await complete(parts, interaction);
    else if (interaction.isButton()) await onButton(parts, queue, interaction);
    else if (interaction.isChatInputCommand()) await useCommand(parts, queue, interaction);
    else if (interaction.isMessageContextMenuCommand()) await useApp(parts, interaction);
    else if (interaction.isModalSubmit()) {
      const command = chatCommands.find(({ name }) => name === interaction.customId.split(':')[0]);
      const work = async () => (await command?.submit?.(parts, interaction)) ?? 'This is over.';
      await answerTo(parts, interaction, { isPrivate: true, work });
    } else if (interaction.isStringSelectMenu() && interaction.customId === TOOLS_MENU) {
      const isRefused = !(await isWelcome(parts, interaction));
      const work = async () => (isRefused ? NOT_HERE : pickTools(parts, interaction, interaction.values));
      await answerTo(parts, interaction, { isPrivate: true, work });
    }
  } catch (error) {
    // another process was first, or the person is gone
    if (
      isCode(error, RESTJSONErrorCodes.InteractionHasAlreadyBeenAcknowledged, RESTJSONErrorCodes.UnknownInteraction)
    ) {
      return;
    }
    parts.logger.error('An interaction failed', { interaction: interaction.id, reason: messageOf(error) });
  }
}

async function sendAway(interaction: Interaction): Promise<void> {
  if (interaction.isAutocomplete()) await interaction.respond([]);
  else await interaction.reply({ content: NOT_SERVED, flags: MessageFlags.Ephemeral });
}

async function complete(parts: BotParts, interaction: AutocompleteInteraction): Promise<void> {
  const command = chatCommands.find(({ name }) => name === interaction.commandName);
  const typed = interaction.options.getFocused().toLowerCase();
  const choices = (await command?.complete?.(parts, interaction)) ?? [];
  const fitting = choices.filter(({ name, value }) => `${name} ${value}`.toLowerCase().includes(typed));
  await interaction.respond(fitting.slice(0, 25).map(({ name, value }) => ({ name: name.slice(0, 100), value })));
}

async function useCommand(parts: BotParts, queue: Queue, interaction: ChatInputCommandInteraction): Promise<void> {
  const command = chatCommands.find(({ name }) => name === interaction.commandName);
  if (!command) return;
  const modal = command.modal?.(interaction);
  if (modal) {
    await interaction.showModal(modal);
    return;
  }
  const isRefused = command.forMembers === true && !(await isWelcome(parts, interaction));
  await answerTo(parts, interaction, {
    isPrivate: isRefused || !command.isPublic,
    isLate: command.answersItself ?? false,
    work: async () => (isRefused ? NOT_HERE : command.run(parts, interaction, queue)),
  });
}

async function useApp(parts: BotParts, interaction: MessageContextMenuCommandInteraction): Promise<void> {
  const app = messageApps.find(({ name }) => name === interaction.commandName);
  const isRefused = !(await isWelcome(parts, interaction));
  const work = async () => (isRefused ? NOT_HERE : ((await app?.run(parts, interaction)) ?? 'This is over.'));
  await answerTo(parts, interaction, { isPrivate: true, work });
}

interface Answering {
  isPrivate: boolean;
  /** The work gives the sign itself, unless it comes to nothing. */
  isLate?: boolean;
  work: () => Promise<CommandAnswer>;
}

/** Discord waits three seconds for a sign, and fifteen minutes for the answer. */
async function answerTo(
  parts: BotParts,
  interaction: Exclude<Deferred, AutocompleteInteraction>,
  { isPrivate, isLate = false, work }: Answering,
): Promise<void> {
  const defer = () => interaction.deferReply(isPrivate ? { flags: MessageFlags.Ephemeral } : {});
  if (!isLate) await defer();
  const answer = await work().catch(async (error): Promise<CommandAnswer> => {
    if (parts.closing.aborted) return 'I am being restarted. Try again in a moment.';
    const { id, guildId } = interaction;
    const command = 'commandName' in interaction ? { command: interaction.commandName } : {};
    // what a person has mistyped is nobody's alarm
    const level = error instanceof DiscordBotError && error.code === 'REFUSED' ? 'info' : 'warn';
    parts.logger[level]('A command failed', { interaction: id, ...command, ...reasonOf(error) });
    const settings = await parts.settings.of(guildId).catch(() => undefined); // it may be the database that failed
    return failureText(error, { id, hasChoice: settings !== undefined && parts.models.hasChoice(settings) });
  });
  if (answer === undefined || (isLate && interaction.replied)) return;
  if (isLate) await defer();
  if (typeof answer !== 'string') {
    await interaction.editReply(answer);
    return;
  }
  const { allowLinkHosts } = parts.options;
  const [first = '-# Nothing came of it.', ...more] = splitMessage(inertLinks(answer, allowLinkHosts));
  const quiet = (content: string) => previewFlags(content, allowLinkHosts).flags;
  await shown(parts, first, (content) => interaction.editReply({ content, flags: quiet(content) }));
  const hidden = isPrivate ? [MessageFlags.Ephemeral as const] : [];
  for (const part of more)
    await shown(parts, part, (content) => interaction.followUp({ content, flags: [...quiet(content), ...hidden] }));
}

/** What a proxy turns away is sent again for a while; a note takes the place of what Discord refuses. */
async function shown(parts: BotParts, content: string, send: (content: string) => Promise<unknown>): Promise<void> {
  const { closing: signal, logger } = parts;
  const isLost = (error: unknown) => isClientError(error) && !isRefusal(error);
  const onWait = (error: unknown) => logger.warn('Tried again until it works: an answer', { reason: messageOf(error) });
  try {
    await tryAgain(() => send(content), { until: Date.now() + SHOWN_MS, signal, onWait, isWorth: isLost });
  } catch (error) {
    if (!isClientError(error)) throw error;
    logger.warn('An answer was refused', { reason: messageOf(error) });
    await send(refusedNote('this answer', refusalReason(error)));
  }
}
