// One run of an agent for a question: history, tools, rights and money are put together.
import { type ApprovalAnswer, type ApprovalRequest, PocketAgent, type UserInput } from 'pocket-agent';
import { needsYes, profileOf } from '../access/profile.ts';
import { contextTokens, seesImages } from '../config/models.ts';
import type { ModelChoice } from '../config/options.ts';
import { inputOf, inputOfCommand } from '../context/input.ts';
import { systemPrompt } from '../context/system-prompt.ts';
import { settingsOf } from '../conversation/ask-once.ts';
import { trimTurns } from '../conversation/context-window.ts';
import type { BotParts } from '../conversation/parts.ts';
import { Purse } from '../conversation/run-budget.ts';
import { letGo } from '../conversation/summary.ts';
import type { TurnLog } from '../conversation/turn-log.ts';
import type { LiveReply } from '../reply/live-reply.ts';
import type { GuildSettings } from '../store/guild-settings.ts';
import type { Claim } from '../store/schema.ts';
import type { Progress } from './progress.ts';
import type { Source } from './question-source.ts';

const RUN_MS = 600_000;
const STEPS = 25;
const APPROVAL_MS = 120_000;

interface Run {
  claim: Claim;
  source: Source;
  settings: GuildSettings;
  signal: AbortSignal;
  reply: LiveReply;
  progress: Progress;
  log: TurnLog;
}

export async function run(parts: BotParts, given: Run): Promise<void> {
  const { claim, source, settings, signal, reply, progress, log } = given;
  const { options, agentLogger: logger, catalogue, servers, history } = parts;
  const { runTimeoutMs = RUN_MS, maxSteps = STEPS, approvalTimeoutMs = APPROVAL_MS } = options.limits ?? {};
  const spender = { userId: claim.user_id, guildId: claim.guild_id };
  const purse = new Purse(parts, { spender, settings });
  const { conversation } = claim;
  const preferences = await history.preferences(conversation);
  const model = parts.models.pick(preferences.model, settings);
  const turns = (await history.turns(conversation)).filter((turn) => !source.replaces.includes(turn.claim));
  const { kept, dropped } = trimTurns(turns, contextTokens(model));
  const leaving = { conversation, turns: dropped, summary: preferences.summary, model, spender, settings, signal };
  const summary = await letGo(parts, leaving);
  // after the summary, which may have cost the rest
  const limits = { maxSteps, timeoutMs: runTimeoutMs, ...(await purse.limit()) };
  const chosen = preferences.tools ?? [...catalogue.ids, ...servers.choices(settings.mcpServers).map(({ id }) => id)];
  const lease = servers.lease({ place: claim.guild_id ?? conversation, ids: chosen, guild: settings.mcpServers });
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
    access: { profile: profileOf(source.member, settings), confirm: 'always', approvalTimeoutMs },
    approve: (request) => approved(parts, given, request),
    // a call that is not written down could be made twice, after a crash or by who has taken the conversation over
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
    await agent.run(await inputFor(parts, given, model), {
      signal,
      onEvent: (event) => {
        if (event.type === 'new_message' && !event.meta.isSubAgent) log.add(event.data);
        if (progress.see(event)) reply.show(progress.text, progress.status);
      },
    });
  } finally {
    await purse.settleAndClose(agent).finally(() => lease?.release());
  }
}

/** Each call comes by here right before it is made. What another process has taken over is not done by this one. */
async function approved(
  { approvals, claims }: BotParts,
  { claim, source }: Run,
  request: ApprovalRequest,
): Promise<ApprovalAnswer> {
  const isAsked = needsYes(request) || request.changed;
  const asked = { channel: source.channel, userId: claim.user_id, claim: claim.id };
  const answer = isAsked ? await approvals.ask(request, asked) : 'allow';
  if (answer === 'deny' || (answer !== 'allow' && 'deny' in answer)) return answer;
  await claims.act(claim);
  return answer;
}

async function inputFor({ fetch, logger }: BotParts, { source, signal }: Run, model: ModelChoice): Promise<UserInput> {
  const options = { fetch, logger, signal, seesImages: seesImages(model), contextTokens: contextTokens(model) };
  return source.message ? inputOf(source.message, options) : inputOfCommand(source, options);
}
