// One question, answered: history, tools and rights are put together, the run is watched, its outcome kept.

import { PermissionFlagsBits } from 'discord.js';
import { PocketAgent, type UserInput } from 'pocket-agent';
import { botMay } from '../access/permissions.ts';
import { needsYes, profileOf } from '../access/profile.ts';
import { settingsOf } from '../ask-once.ts';
import { inputOf, inputOfCommand } from '../context/input.ts';
import { messageOf } from '../errors.ts';
import { contextTokens, seesImages } from '../models.ts';
import type { ModelChoice } from '../options.ts';
import type { BotParts } from '../parts.ts';
import { LiveReply } from '../reply/live-reply.ts';
import { keepTyping } from '../reply/typing.ts';
import type { GuildSettings } from '../settings/settings.ts';
import type { Claim } from '../store/schema.ts';
import { shortened } from '../texts.ts';
import { failureText, reasonOf } from './failure.ts';
import type { Preferences } from './history.ts';
import { Progress } from './progress.ts';
import { Purse } from './purse.ts';
import type { Source } from './source.ts';
import { letGo } from './summary.ts';
import { systemPrompt } from './system-prompt.ts';
import { trimTurns } from './trim.ts';
import { assistantText, hasToolCalls, TurnLog } from './turn-log.ts';

const RUN_MS = 600_000;
const STEPS = 25;
const APPROVAL_MS = 120_000;

interface Setting {
  source: Source;
  settings: GuildSettings;
  preferences: Preferences;
  model: ModelChoice;
  signal: AbortSignal;
}

/** False when it has to be taken up again: the bot was closed in the middle of it, or Discord could not be reached. */
export async function answer(parts: BotParts, claim: Claim, source: Source, closing: AbortSignal): Promise<boolean> {
  const { history, runs, logger } = parts;
  const reply = liveReply(parts, claim, source);
  const stopping = new AbortController();
  const { message, channel, user, guild } = source;
  const discord = { message, channel, user, guild, client: parts.client };
  const left = runs.add(claim.id, { userId: user.id, discord, stop: () => stopping.abort() });
  const stopTyping = keepTyping(channel);
  const progress = new Progress();
  const log = new TurnLog(history, { conversation: claim.conversation, claim: claim.id });
  const signal = AbortSignal.any([stopping.signal, closing]);
  let hasChoice = false;
  try {
    await history.remove([claim.id, ...(source.replaces === undefined ? [] : [source.replaces])]);
    const settings = await parts.settings.of(claim.guild_id);
    hasChoice = parts.models.hasChoice(settings);
    const preferences = await history.preferences(claim.conversation);
    const model = parts.models.pick(preferences.model, settings);
    await run(parts, claim, { source, settings, preferences, model, signal }, { reply, progress, log });
    await log.written();
    return (await reply.finish(progress.text, { note: progress.note })) !== 'failed';
  } catch (error) {
    const isStopped = stopping.signal.aborted;
    if (closing.aborted && !isStopped) {
      await reply.finish(progress.text, { note: '-# I am being restarted and will be back.', again: false });
      return false;
    }
    if (!isStopped) logger.warn('An answer failed', { claim: claim.id, ...reasonOf(error) });
    const note = isStopped ? '-# Stopped.' : `-# ${failureText(error, { id: claim.id, hasChoice })}`;
    await keepEnd(parts, log, { text: progress.text, isStopped });
    await reply.finish(progress.text, { note });
  } finally {
    stopTyping();
    left();
  }
  return true;
}

export function liveReply(parts: BotParts, claim: Claim, { channel, message, text, replies }: Source): LiveReply {
  const { claims, options, logger } = parts;
  return new LiveReply(
    {
      channel,
      // Discord takes replies only where the bot may read what was said
      replyTo: botMay(channel, PermissionFlagsBits.ReadMessageHistory) ? message?.id : undefined,
      heading: message ? '' : `> ${shortened(text)}\n`,
      claim: claim.id,
      ids: replies,
      onIds: (ids) => claims.setReplies(claim.id, ids),
      canAttach: botMay(channel, PermissionFlagsBits.AttachFiles),
    },
    options.reply ?? {},
    logger,
  );
}

interface Watched {
  reply: LiveReply;
  progress: Progress;
  log: TurnLog;
}

async function run(parts: BotParts, claim: Claim, setting: Setting, watched: Watched): Promise<void> {
  const { reply, progress, log } = watched;
  const { source, settings, preferences, model, signal } = setting;
  const { options, agentLogger: logger, catalogue, servers, approvals } = parts;
  const { runTimeoutMs = RUN_MS, maxSteps = STEPS, approvalTimeoutMs = APPROVAL_MS } = options.limits ?? {};
  const spender = { userId: claim.user_id, guildId: claim.guild_id };
  const purse = new Purse(parts, spender, settings);
  const limits = { maxSteps, timeoutMs: runTimeoutMs, ...(await purse.limit()) };
  const { kept, dropped } = trimTurns(await parts.history.turns(claim.conversation), contextTokens(model));
  const { conversation } = claim;
  const leaving = { conversation, turns: dropped, summary: preferences.summary, model, spender, settings };
  const summary = await letGo(parts, leaving);
  const chosen = preferences.tools ?? [...catalogue.ids, ...servers.choices(settings.mcpServers).map(({ id }) => id)];
  const lease = servers.lease(claim.guild_id ?? claim.conversation, chosen, settings.mcpServers);
  const agent = new PocketAgent({
    agentConfig: {
      llmModel: model.model ?? model.name,
      ...settingsOf(model),
      name: parts.client.user.username,
      allowImages: seesImages(model),
      messages: kept.flatMap(({ messages }) => messages),
      systemPrompt: systemPrompt({
        own: options.systemPrompt,
        bot: parts.client.user,
        guildName: source.guild?.name,
        summary,
      }),
    },
    tools: catalogue.sources(chosen),
    ...(lease ? { mcpClient: lease.client } : {}),
    access: { profile: profileOf(source.member, settings), confirm: needsYes, approvalTimeoutMs },
    approve: (request) => approvals.ask(request, { channel: source.channel, userId: claim.user_id, claim: claim.id }),
    // a call that is not written down could be made twice after a crash
    hooks: {
      preStep: ({ agent: asking }) => purse.pay(asking.totals.usage),
      preToolCall: async () => void (await log.written()),
    },
    toolCallMetadata: { discord_claim: claim.id },
    limits,
    logger,
    ...(options.prices ? { prices: options.prices } : {}),
  });
  try {
    await agent.run(await inputFor(parts, setting), {
      signal,
      onEvent: (event) => {
        if (event.type === 'new_message' && !event.meta.isSubAgent) log.add(event.data);
        if (progress.see(event)) reply.show(progress.text, progress.status);
      },
    });
  } finally {
    await purse.settle(agent.totals.usage);
    await agent.close();
    lease?.release();
  }
}

async function inputFor({ fetch, logger }: BotParts, { source, model, signal }: Setting): Promise<UserInput> {
  const options = { fetch, logger, signal, seesImages: seesImages(model) };
  return source.message ? inputOf(source.message, options) : inputOfCommand(source, options);
}

/** A failure without any effect leaves no trace; what was stopped, or had used tools, is closed so that the model knows. */
async function keepEnd(
  { history, logger }: BotParts,
  log: TurnLog,
  { text, isStopped }: { text: string; isStopped: boolean },
): Promise<void> {
  try {
    await log.written();
    if (!isStopped && !hasToolCalls(log.messages)) await history.remove([log.claim]);
    else if (log.messages.length > 0) {
      log.add(assistantText(`${text}\n[${isStopped ? 'stopped by the person' : 'failed'}]`.trim()));
      await log.written();
    }
  } catch (error) {
    logger.error('A conversation could not be kept', { claim: log.claim, reason: messageOf(error) });
  }
}
