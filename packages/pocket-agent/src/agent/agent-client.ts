// The MCP client of an agent: requests of servers are answered by the run that they belong to.
import type { Tool } from '@modelcontextprotocol/client';
import { errorText, isPocketError, type Logger, PocketError, publicErrorText, warnOnce } from '@pocket-agent/kit';
import type { Budget } from '../cost/budget.ts';
import type { Ledger } from '../cost/ledger.ts';
import { PocketAgentClient } from '../mcp/client.ts';
import type { PocketAgentClientOptions } from '../mcp/client-options.ts';
import type { ServerHandlers } from '../mcp/server-requests.ts';
import type { LanguageModel } from '../providers/model-names.ts';
import type { UnsignedEvent } from '../run/events.ts';
import { currentRun, type ElicitationHandler } from '../run/run-context.ts';
import type { RenamedTool } from '../tools/name-registry.ts';
import { inputFormatOf } from '../tools/tool-source.ts';
import type { ToolTable } from '../tools/tool-table.ts';
import { clientOptions, type NestedAgentOptions } from './agent-config.ts';

interface ClientOwner {
  options: NestedAgentOptions;
  logger: Logger;
  emit(event: UnsignedEvent): void;
  ledger: Ledger;
  client(): PocketAgentClient;
  model(): Promise<LanguageModel>;
  /** All tools of the agent, not only those of MCP servers. */
  tools(): ToolTable | Promise<ToolTable>;
  toolRenamed(change: RenamedTool): void;
}

/** The MCP servers of an agent. It also knows the input formats of the agent's other tools. */
export class AgentClient extends PocketAgentClient {
  readonly #tools: ClientOwner['tools'];

  constructor(owner: ClientOwner) {
    super(agentClientOptions(owner));
    this.#tools = owner.tools;
  }

  override async getToolInputFormat(name: string): Promise<Tool['inputSchema']> {
    const found = (await this.#tools()).find(name);
    return found ? inputFormatOf(found.tool) : super.getToolInputFormat(name);
  }
}

function agentClientOptions(owner: ClientOwner): PocketAgentClientOptions {
  const { options, logger, emit, toolRenamed } = owner;
  const samplingHandler = options.samplingHandler === 'agent-model' ? ownModel(owner) : options.samplingHandler;
  return {
    ...clientOptions(options),
    ...(samplingHandler ? { samplingHandler } : {}),
    elicitationHandler: elicit(owner), // always: each run decides whether there is a person to ask
    logger,
    onServerStatus: (server, status, reason) =>
      emit({ type: 'server_status', data: { server, status, ...(reason ? { reason } : {}) } }),
    onServerLog: (log) => emit({ type: 'server_log', data: log }),
    onToolRenamed: toolRenamed,
  };
}

/** Per run: limits what a server can spend if the agent has no budget. */
const MAX_SAMPLES = 100;

/** Sampling counts towards the budget of the run that calls the server: one at a time, so that the limit holds. */
function ownModel({ ledger, model, logger }: ClientOwner): NonNullable<ServerHandlers['samplingHandler']> {
  const samples = new WeakMap<Budget, { count: number; last: Promise<unknown> }>();
  return async (params, { server, signal }) => {
    const run = currentRun();
    if (!run) throw new Error(`No run that calls "${server}" could be found to sample for.`);
    const { sample } = await import('./sampling.ts');
    const own = await model();
    const { count, last } = samples.get(run.budget) ?? { count: 0, last: Promise.resolve() };
    if (count >= MAX_SAMPLES)
      throw new PocketError('BUDGET_REACHED', `A run answers at most ${MAX_SAMPLES} sampling requests.`);
    const sampled = last.then(async () => {
      run.budget.checkModelCall();
      if (run.budget.limitsCost) await ledger.requirePrice(run, own);
      return sample({ model: own, params, signal, onAnswer: (answer) => ledger.record({ run, model: own, answer }) });
    });
    samples.set(run.budget, { count: count + 1, last: sampled.catch(() => {}) });
    return sampled.catch((error) => {
      throw forServer(error, server, logger);
    });
  };
}

/** Servers do not see the error texts of the provider. */
function forServer(error: unknown, server: string, logger: Logger): unknown {
  if (!isPocketError(error) || error.cause === undefined) return error;
  const text = publicErrorText(error, 'The model');
  if (text === error.message) return error;
  logger.error(`Sampling for MCP server "${server}": ${errorText(error)}`);
  return new PocketError(error.code, text);
}

/** Approval questions of another Pocket Agent go to this agent's approver. */
function elicit(owner: ClientOwner): ElicitationHandler {
  const { options, client, logger } = owner;
  return async (params, from) => {
    const run = currentRun();
    // a question that names no call may be for a run with its own `elicit`
    const isAmbiguous = !run && client().isCalledWithElicit(from.server);
    const isForwarded = client().asksApproval(from.server);
    const { answerApproval, notForwardedText, unanswered } = await import('../access/remote-approval.ts');
    const asking = run && { policy: run.policy, signal: AbortSignal.any([run.signal, from.signal]) };
    const answer = isForwarded ? await answerApproval(params, from.server, asking) : undefined;
    if (answer) return answer;
    const ask = run?.elicit ?? (isAmbiguous ? undefined : options.elicitationHandler);
    if (ask) return ask(params, from);
    const { isApproval, result } = unanswered(params, isForwarded);
    const who = `MCP server "${from.server}"`;
    const text = isApproval
      ? notForwardedText(who)
      : `${who} asked something and got no answer: ${run ? NO_ELICITATION_HANDLER : AMBIGUOUS}`;
    if (!isApproval || !isForwarded) warnOnce({ logger, about: owner, key: from.server, text });
    return result;
  };
}

const NO_ELICITATION_HANDLER = 'the run has no `elicit` and the agent no `elicitationHandler`.';
const AMBIGUOUS = 'the question names no call, and several runs or none are calling the server.';
