// Runs an agent for one question, with its history, tools, access profile and budget.
import {
  type ApprovalAnswer,
  type ApprovalRequest,
  type Message,
  PocketAgent,
  type PocketAgentClient,
  type UserInput,
} from 'pocket-agent';
import { ANSWERED_ELSEWHERE } from '../access/approvals.ts';
import { needsApproval, profileOf } from '../access/profile.ts';
import { contextTokens, seesImages } from '../config/models.ts';
import type { ModelChoice, Watcher } from '../config/options.ts';
import { inputOf, inputOfCommand } from '../context/input.ts';
import { systemPrompt } from '../context/system-prompt.ts';
import { modelOptions } from '../conversation/ask-once.ts';
import { trimTurns } from '../conversation/context-window.ts';
import type { BotParts } from '../conversation/parts.ts';
import { RunBudget } from '../conversation/run-budget.ts';
import { compactHistory } from '../conversation/summary.ts';
import { MEMORY_ID, toolChoices } from '../conversation/tool-choices.ts';
import type { TurnLog } from '../conversation/turn-log.ts';
import { InteractionChannel } from '../reply/interaction-channel.ts';
import type { LiveReply } from '../reply/live-reply.ts';
import type { GuildSettings } from '../store/guild-settings.ts';
import { agentMemory, type MemoryPlace } from '../store/memory.ts';
import type { Claim } from '../store/schema.ts';
import type { Spender } from '../store/spending.ts';
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
  const { claim, settings, signal, reply, progress, log } = input;
  const runBudget = new RunBudget(parts, { spender: spenderOf(claim), settings });
  const conversation = await loadConversation(parts, input);
  // after the summary, which costs money too
  const costLimit = await runBudget.limit();
  const place = claim.guild_id ?? claim.conversation;
  const { guild_id: guildId, user_id: userId } = claim;
  const servers = {
    ids: conversation.toolIds,
    guild: settings.mcpServers,
    member: guildId === null ? undefined : { guildId, userId },
  };
  const { missing: missingLogins, ids } = await parts.servers.missingLogins(servers);
  const lease = parts.servers.lease({ place, ...servers, ids });
  const watcher = parts.options.watch?.({ id: claim.conversation, agent: parts.client.user.username });
  const agent = createAgent(parts, input, {
    ...conversation,
    missingLogins,
    runBudget,
    costLimit,
    watcher,
    mcpClient: lease?.client,
  });
  try {
    await agent.run(await inputFor(parts, input, conversation.model), {
      signal,
      onEvent: (event) => {
        watcher?.onEvent(event);
        if (event.type === 'new_message' && !event.meta.isSubAgent) log.add(event.data);
        if (progress.update(event)) reply.show(progress.text, progress.status);
      },
      ...(watcher?.onModelCall ? { onModelCall: watcher.onModelCall } : {}),
    });
  } finally {
    await runBudget.recordAndClose(agent).finally(() => lease?.release());
  }
}

function spenderOf({ user_id, guild_id }: Claim): Spender {
  return { userId: user_id, guildId: guild_id };
}

function placeOf({ user_id, guild_id }: Claim): MemoryPlace {
  return { userId: user_id, guildId: guild_id };
}

interface Conversation {
  model: ModelChoice;
  /** The turns that fit into the context window. */
  messages: Message[];
  /** The summary of turns that no longer fit. */
  summary: string | null;
  /** The chosen tool folders and MCP servers; all until a user chooses. */
  toolIds: readonly string[];
}

async function loadConversation(parts: BotParts, { claim, source, settings, signal }: RunInput): Promise<Conversation> {
  const { history, models } = parts;
  const { conversation } = claim;
  const preferences = await history.preferences(conversation);
  const model = models.pick(preferences.model, settings);
  const turns = (await history.limitImages(conversation)).filter(({ turn }) => !source.replaces.includes(turn));
  const { kept, dropped } = trimTurns(turns, contextTokens(model));
  const summary = await compactHistory(parts, {
    conversation,
    turns: dropped,
    summary: preferences.summary,
    model,
    spender: spenderOf(claim),
    settings,
    signal,
  });
  const messages = kept.flatMap((turn) => turn.messages);
  const toolIds = preferences.tools ?? toolChoices(parts, settings).map(({ id }) => id);
  return { model, messages, summary, toolIds };
}

interface AgentParts extends Conversation {
  /** The servers at which the user has to log in first. */
  missingLogins: readonly string[];
  runBudget: RunBudget;
  costLimit: { maxCostUsd?: number };
  mcpClient: PocketAgentClient | undefined;
  watcher: Watcher | undefined;
}

function createAgent(parts: BotParts, input: RunInput, agentParts: AgentParts): PocketAgent {
  const { claim, source, settings, log } = input;
  const { model, messages, summary, toolIds, runBudget, costLimit, mcpClient, watcher } = agentParts;
  const { options, agentLogger: logger, catalogue, client } = parts;
  const { runTimeoutMs = RUN_TIMEOUT_MS, maxSteps = MAX_STEPS } = options.limits ?? {};
  const { approvalTimeoutMs = APPROVAL_TIMEOUT_MS } = options.limits ?? {};
  const guildName = source.guild?.name;
  // others may see the answer, who must not learn what a person said in direct messages
  const isPlaceOfBot = !(source.channel instanceof InteractionChannel);
  const mayRemember = options.memory === true && isPlaceOfBot && toolIds.includes(MEMORY_ID);
  return new PocketAgent({
    agentConfig: {
      llmModel: model.model ?? model.name,
      ...modelOptions(model),
      name: client.user.username,
      allowImages: seesImages(model),
      messages,
      systemPrompt: systemPrompt({
        custom: options.systemPrompt,
        bot: client.user,
        guildName,
        summary,
        missingLogins: agentParts.missingLogins,
      }),
    },
    tools: catalogue.sources(toolIds),
    mcpClient,
    memory: mayRemember ? agentMemory(parts.chats, placeOf(claim)) : false,
    access: { profile: profileOf(source.member, settings), confirm: 'always', approvalTimeoutMs },
    approve: (request) => approve(parts, { ...input, watcher }, request),
    hooks: {
      preStep: ({ agent }) => runBudget.charge(agent.totals.usage),
      // a tool call that is not stored could run twice, after a crash or in another process
      preToolCall: async () => void (await log.written()),
    },
    toolCallMetadata: { discord_claim: claim.id },
    limits: { maxSteps, timeoutMs: Math.min(runTimeoutMs, remainingMs(source)), ...costLimit },
    logger,
    prices: options.prices,
  });
}

/** Until Discord accepts no more answers. */
function remainingMs({ channel }: QuestionSource): number {
  return channel instanceof InteractionChannel ? Math.max(1, channel.closesAt - Date.now()) : Number.POSITIVE_INFINITY;
}

/** Called right before each tool call. Throws if another process took over. */
async function approve(
  { approvals, claims }: BotParts,
  { claim, source, watcher }: RunInput & { watcher: Watcher | undefined },
  request: ApprovalRequest,
): Promise<ApprovalAnswer> {
  const needsUser = needsApproval(request) || request.changed;
  const target = { channel: source.channel, userId: claim.user_id, claim: claim.id };
  const answer = needsUser ? await firstAnswer(request, (each) => approvals.ask(each, target), watcher) : 'allow';
  if (typeof answer === 'string' ? answer !== 'allow' : 'deny' in answer) return answer;
  await claims.markActing(claim);
  return answer;
}

/** Asks the user, and the watcher if there is one. */
async function firstAnswer(
  request: ApprovalRequest,
  askUser: (request: ApprovalRequest) => Promise<ApprovalAnswer>,
  watcher: Watcher | undefined,
): Promise<ApprovalAnswer> {
  if (!watcher) return askUser(request);
  const answered = new AbortController();
  const asked = { ...request, signal: AbortSignal.any([request.signal, answered.signal]) };
  try {
    return await Promise.race([askUser(asked), watcher.approve(asked)]);
  } finally {
    answered.abort(ANSWERED_ELSEWHERE);
  }
}

async function inputFor(
  { fetch, logger }: BotParts,
  { source, signal }: RunInput,
  model: ModelChoice,
): Promise<UserInput> {
  const options = { fetch, logger, signal, seesImages: seesImages(model), contextTokens: contextTokens(model) };
  return source.message ? inputOf(source.message, options) : inputOfCommand(source, options);
}
