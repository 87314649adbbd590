// One question, answered: the run is watched while people look on, and its outcome kept.
import { PermissionFlagsBits } from 'discord.js';
import { botMay } from '../access/bot-permissions.ts';
import { DiscordBotError, messageOf } from '../base/errors.ts';
import { failureText, reasonOf } from '../conversation/failure-text.ts';
import type { BotParts } from '../conversation/parts.ts';
import { assistantText, hasToolCalls, TurnLog } from '../conversation/turn-log.ts';
import { LiveReply } from '../reply/live-reply.ts';
import { shortened } from '../reply/texts.ts';
import { keepTyping } from '../reply/typing.ts';
import type { Claim } from '../store/schema.ts';
import { run } from './agent-run.ts';
import { BEFORE, keepSeen, showAnswer, textBefore } from './delivery.ts';
import { Progress } from './progress.ts';
import type { Source } from './question-source.ts';

export interface Question {
  claim: Claim;
  source: Source;
}

/** False when it has to be taken up again: the bot was closed or lost it in the middle, or Discord could not be reached. */
export async function answer(parts: BotParts, { claim, source }: Question): Promise<boolean> {
  const { history, holdings, runs, logger, closing } = parts;
  const { conversation } = claim;
  const reply = liveReply(parts, { claim, source });
  const [stopping, losing] = [new AbortController(), new AbortController()];
  const { message, channel, user, guild } = source;
  const left = runs.add(claim.id, {
    userId: user.id,
    conversation,
    discord: { message, channel, user, guild, client: parts.client },
    stop: () => stopping.abort(),
    lose: () => losing.abort(),
  });
  const stopTyping = keepTyping(channel);
  const progress = new Progress();
  const log = new TurnLog(history, { conversation, claim: claim.id });
  const signal = AbortSignal.any([stopping.signal, losing.signal, closing]);
  let hasChoice = false;
  try {
    // the message of a command may say that it waits
    if (claim.kind === 'ask') reply.show('', progress.status);
    await history.remove(conversation, [claim.id]);
    const settings = await parts.settings.of(claim.guild_id);
    hasChoice = parts.models.hasChoice(settings);
    await run(parts, { claim, source, settings, signal, reply, progress, log });
    await log.written();
    const isEmpty = progress.text.trim() === '';
    if (isEmpty && source.replaces.length > 0) throw new DiscordBotError('REFUSED', 'The model answered nothing.');
    const finished = { claim, source, reply, messages: log.messages };
    return await showAnswer(parts, finished, { text: progress.text, note: progress.note });
  } catch (error) {
    if (losing.signal.aborted || !(await holdings.has(conversation))) {
      logger.warn('Another process goes on with an answer', { claim: claim.id });
      return false;
    }
    const isStopped = stopping.signal.aborted;
    if (closing.aborted && !isStopped) {
      await reply.finish(progress.text, { note: '-# I am being restarted and will be back.', again: false });
      return false;
    }
    if (!isStopped) logger.warn('An answer failed', { claim: claim.id, ...reasonOf(error) });
    const reason = isStopped ? 'Stopped.' : failureText(error, { id: claim.id, hasChoice });
    const before = await textBefore(parts, source);
    const end = { text: progress.text, isStopped, isReplacing: before !== '' };
    // what was stopped is never run again, also where it could not be said
    if (isStopped) await keepEnd(parts, log, end);
    const note = before === '' ? `-# ${reason}` : `-# ${reason} ${BEFORE}`;
    const outcome = await reply.finish(before || progress.text, { note });
    if (!isStopped && outcome.state === 'failed') return false;
    if (!isStopped) await keepEnd(parts, log, end);
    if (before === '') await keepSeen(parts, { claim, messages: log.messages }, outcome);
  } finally {
    await reply.leave();
    stopTyping();
    left();
  }
  return true;
}

export function liveReply({ claims, options, logger }: BotParts, { claim, source }: Question): LiveReply {
  const { channel, message, text, replies } = source;
  return new LiveReply(
    {
      channel,
      // Discord takes replies only where the bot may read what was said
      replyTo: botMay(channel, PermissionFlagsBits.ReadMessageHistory) ? message?.id : undefined,
      heading: message ? '' : `> ${shortened(text)}\n`,
      claim: claim.id,
      ids: replies,
      isTakenUp: claim.state !== 'queued',
      onIds: (ids) => claims.setReplies(claim, ids),
      canAttach: botMay(channel, PermissionFlagsBits.AttachFiles),
      allowLinkHosts: options.allowLinkHosts ?? [],
    },
    options.reply ?? {},
    logger,
  );
}

interface End {
  text: string;
  isStopped: boolean;
  /** An answer from before stays instead. */
  isReplacing: boolean;
}

/** A failure without any effect leaves no trace; what was stopped, or had used tools, is closed so that the model knows. */
async function keepEnd({ history, logger }: BotParts, log: TurnLog, end: End): Promise<void> {
  const { text, isStopped, isReplacing } = end;
  try {
    await log.written();
    const isKept = hasToolCalls(log.messages) || (isStopped && !isReplacing);
    if (!isKept) await history.remove(log.conversation, [log.claim]);
    else if (log.messages.length > 0) {
      log.add(assistantText(`${text}\n[${isStopped ? 'stopped by the person' : 'failed'}]`.trim()));
      await log.written();
    }
  } catch (error) {
    logger.error('A conversation could not be kept', { claim: log.claim, reason: messageOf(error) });
  }
}
