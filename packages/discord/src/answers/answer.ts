// Answers one question: runs the agent, shows its progress, and stores the outcome.

import { errorText } from '@pocket-agent/kit';
import { PermissionFlagsBits } from 'discord.js';
import { botCan } from '../access/channel-permissions.ts';
import { DiscordBotError } from '../base/errors.ts';
import { failureFields, failureText } from '../conversation/failure-text.ts';
import type { BotParts } from '../conversation/parts.ts';
import { assistantText, hasToolCalls, TurnLog } from '../conversation/turn-log.ts';
import { answerFiles } from '../reply/answer-files.ts';
import { InteractionChannel } from '../reply/interaction-channel.ts';
import { LiveReply } from '../reply/live-reply.ts';
import { keepTyping } from '../reply/typing.ts';
import type { Claim } from '../store/schema.ts';
import { runAgent } from './agent-run.ts';
import { deliverAnswer, keepVisibleAnswer, PREVIOUS_ANSWER, previousAnswer } from './delivery.ts';
import { Progress } from './progress.ts';
import type { QuestionSource } from './question-source.ts';

/** Discord allows few messages after the answer to an interaction; approvals need some of them. */
const REMOTE_PARTS = 2;

export interface Question {
  claim: Claim;
  source: QuestionSource;
}

/** False if it must be resumed: the bot closed, another process took over, or Discord was unreachable. */
export async function answer(parts: BotParts, { claim, source }: Question): Promise<boolean> {
  const { history, ownership, runs, logger, closing } = parts;
  const { conversation } = claim;
  const reply = createReply(parts, { claim, source });
  const [stopping, abandoning] = [new AbortController(), new AbortController()];
  const { message, channel, user, guild } = source;
  const unregister = runs.add(claim.id, {
    userId: user.id,
    conversation,
    discord: { message, channel, user, guild, client: parts.client },
    stop: () => stopping.abort(),
    abandon: () => abandoning.abort(),
  });
  const stopTyping = keepTyping(channel);
  const progress = new Progress();
  const log = new TurnLog(history, { conversation, claim: claim.id });
  const signal = AbortSignal.any([stopping.signal, abandoning.signal, closing]);
  let hasModelChoice = false;
  try {
    // replaces a "queued" note in the reply of a command
    if (claim.kind === 'ask' || claim.kind === 'scheduled') reply.show('', progress.status);
    await history.remove(conversation, [claim.id]);
    const settings = await parts.settings.get(claim.guild_id);
    hasModelChoice = parts.models.hasChoice(settings);
    await runAgent(parts, { claim, source, settings, signal, reply, progress, log });
    await log.written();
    const isEmpty = progress.text.trim() === '' && answerFiles(log.messages).length === 0;
    if (isEmpty && source.replaces.length > 0) throw new DiscordBotError('REFUSED', 'The model returned no text.');
    const finished = { claim, source, reply, messages: log.messages };
    return await deliverAnswer(parts, finished, { text: progress.text, note: progress.note });
  } catch (error) {
    if (abandoning.signal.aborted || !(await ownership.isOwner(conversation))) {
      logger.warn('Another process took over an answer', { claim: claim.id });
      return false;
    }
    const isStopped = stopping.signal.aborted;
    if (closing.aborted && !isStopped) {
      await reply.finish(progress.text, { note: '-# I am restarting and will continue this answer.', again: false });
      return false;
    }
    if (!isStopped) logger.warn('Answer failed', { claim: claim.id, ...failureFields(error) });
    const reason = isStopped ? 'Stopped.' : failureText(error, { id: claim.id, hasChoice: hasModelChoice });
    const previous = await previousAnswer(parts, { claim, source });
    const ending = { text: progress.text, isStopped, keepsPrevious: previous !== undefined };
    // store first: a stopped answer must not run again, even if Discord cannot show it
    if (isStopped) await storeEnd(parts, log, ending);
    const note = previous ? `-# ${reason} ${PREVIOUS_ANSWER}` : `-# ${reason}`;
    const outcome = await reply.finish(previous?.text ?? progress.text, { note, files: previous?.files ?? [] });
    if (!isStopped && outcome.state === 'failed') return false;
    if (!isStopped) await storeEnd(parts, log, ending);
    if (!previous) await keepVisibleAnswer(parts, { claim, messages: log.messages }, outcome);
  } finally {
    await reply.stop();
    stopTyping();
    unregister();
  }
  return true;
}

export function createReply({ claims, options, logger }: BotParts, { claim, source }: Question): LiveReply {
  const { channel, message, heading, replies } = source;
  const isRemote = channel instanceof InteractionChannel;
  return new LiveReply(
    {
      channel,
      // Discord accepts replies only where the bot may read the history
      replyTo: botCan(channel, PermissionFlagsBits.ReadMessageHistory) ? message?.id : undefined,
      heading,
      claim: claim.id,
      ids: replies,
      isResumed: claim.state !== 'queued',
      onIds: (ids) => claims.setReplies(claim, ids),
      canAttach: botCan(channel, PermissionFlagsBits.AttachFiles),
      allowLinkHosts: options.allowLinkHosts ?? [],
      canRepeat: !isRemote,
    },
    { ...options.reply, ...(isRemote ? { maxParts: REMOTE_PARTS } : {}) },
    logger,
  );
}

interface Ending {
  text: string;
  isStopped: boolean;
  /** The previous answer stays visible instead. */
  keepsPrevious: boolean;
}

/** Removes a failed turn without tool calls; other turns get a closing message, so that the model knows. */
async function storeEnd({ history, logger }: BotParts, log: TurnLog, ending: Ending): Promise<void> {
  const { text, isStopped, keepsPrevious } = ending;
  try {
    await log.written();
    const isKept = hasToolCalls(log.messages) || (isStopped && !keepsPrevious);
    if (!isKept) await history.remove(log.conversation, [log.claim]);
    else if (log.messages.length > 0) {
      log.add(assistantText(`${text}\n[${isStopped ? 'stopped by the user' : 'failed'}]`.trim()));
      await log.written();
    }
  } catch (error) {
    logger.error('Storing a conversation failed', { claim: log.claim, reason: errorText(error) });
  }
}
