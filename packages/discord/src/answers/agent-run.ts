// Runs an agent for one question, with its history, tools, access profile and budget.
import { type ApprovalAnswer, type ApprovalRequest, PocketAgent, type UserInput } from 'pocket-agent';
import { needsApproval, profileOf } from '../access/profile.ts';
import { contextTokens, seesImages } from '../config/models.ts';
import type { ModelChoice } from '../config/options.ts';
import { inputOf, inputOfCommand } from '../context/input.ts';
import { systemPrompt } from '../context/system-prompt.ts';
import { modelOptions } from '../conversation/ask-once.ts';
import { trimTurns } from '../conversation/context-window.ts';
import type { BotParts } from '../conversation/parts.ts';
import { RunBudget } from '../conversation/run-budget.ts';
import { compactHistory } from '../conversation/summary.ts';
import type { TurnLog } from '../conversation/turn-log.ts';
import type { LiveReply } from '../reply/live-reply.ts';
import type { GuildSettings } from '../store/guild-settings.ts';
import type { Claim } from '../store/schema.ts';
import type { Progress } from './progress.ts';
import type { QuestionSource } from './question-source.ts';

const RUN_TIMEOUT_MS = 600_000;
const MAX_STEPS = 25;
const APPROVAL_TIMEOUT_MS = 120_000;

interface RunInput {
  claim: Claim;
  source: QuestionSource;
  settings: GuildSettings;
  signal: AbortSignal;
  reply: LiveReply;
  progress: Progress;
  log: TurnLog;
}

export async function runAgent(parts: BotParts, input: RunInput): Promise<void> {
  const { claim, source, settings, signal, reply, progress, log } = input;
  const { options, agentLogger: logger, catalogue, servers, history } = parts;
  const {
    runTimeoutMs = RUN_TIMEOUT_MS,
    maxSteps = MAX_STEPS,
    approvalTimeoutMs = APPROVAL_TIMEOUT_MS,
  } = options.limits ?? {};
  const spender = { userId: claim.user_id, guildId: claim.guild_id };
  const runBudget = new RunBudget(parts, { spender, settings });
  const { conversation } = claim;
  const preferences = await history.preferences(conversation);
  const model = parts.models.pick(preferences.model, settings);
  const turns = (await history.turns(conversation)).filter((turn) => !source.replaces.includes(turn.claim));
  const { kept, dropped } = trimTurns(turns, contextTokens(model));
  const compaction = { conversation, turns: dropped, summary: preferences.summary, model, spender, settings, signal };
  const summary = await compactHistory(parts, compaction);
  // after the summary, which costs money too
  const limits = { maxSteps, timeoutMs: runTimeoutMs, ...(await runBudget.limit()) };
  const chosen = preferences.tools ?? [...catalogue.ids, ...servers.choices(settings.mcpServers).map(({ id }) => id)];
  const lease = servers.lease({ place: claim.guild_id ?? conversation, ids: chosen, guild: settings.mcpServers });
  const agent = new PocketAgent({
    agentConfig: {
      llmModel: model.model ?? model.name,
      ...modelOptions(model),
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
    approve: (request) => approved(parts, input, request),
    // a tool call that is not stored could run twice, after a crash or in another process
    hooks: {
      preStep: ({ agent: asking }) => runBudget.charge(asking.totals.usage),
      preToolCall: async () => void (await log.written()),
    },
    toolCallMetadata: { discord_claim: claim.id },
    limits,
    logger,
    ...(options.prices ? { prices: options.prices } : {}),
  });
  try {
    await agent.run(await inputFor(parts, input, model), {
      signal,
      onEvent: (event) => {
        if (event.type === 'new_message' && !event.meta.isSubAgent) log.add(event.data);
        if (progress.update(event)) reply.show(progress.text, progress.status);
      },
    });
  } finally {
    await runBudget.recordAndClose(agent).finally(() => lease?.release());
  }
}

/** Called right before each tool call. Throws if another process took over. */
async function approved(
  { approvals, claims }: BotParts,
  { claim, source }: RunInput,
  request: ApprovalRequest,
): Promise<ApprovalAnswer> {
  const needsUser = needsApproval(request) || request.changed;
  const target = { channel: source.channel, userId: claim.user_id, claim: claim.id };
  const answer = needsUser ? await approvals.ask(request, target) : 'allow';
  if (answer === 'deny' || (answer !== 'allow' && 'deny' in answer)) return answer;
  await claims.markActing(claim);
  return answer;
}

async function inputFor(
  { fetch, logger }: BotParts,
  { source, signal }: RunInput,
  model: ModelChoice,
): Promise<UserInput> {
  const options = { fetch, logger, signal, seesImages: seesImages(model), contextTokens: contextTokens(model) };
  return source.message ? inputOf(source.message, options) : inputOfCommand(source, options);
}
