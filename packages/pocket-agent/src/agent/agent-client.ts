// The MCP client of an agent: requests of servers are answered by the run that they belong to.
import type { Tool } from '@modelcontextprotocol/client';
import { warnOnce } from '@pocket-agent/kit';
import { PocketAgentClient } from '../mcp/client.ts';
import type { PocketAgentClientOptions } from '../mcp/client-options.ts';
import type { ServerHandlers } from '../mcp/server-requests.ts';
import type { LanguageModel } from '../providers/model-names.ts';
import { currentRun, type ElicitationHandler } from '../run/run-context.ts';
import type { RenamedTool } from '../tools/name-registry.ts';
import { inputFormatOf } from '../tools/tool-source.ts';
import type { ToolTable } from '../tools/tool-table.ts';
import type { PocketAgent } from './agent.ts';
import { clientOptions, type NestedAgentOptions } from './agent-config.ts';
import type { AgentParts } from './agent-parts.ts';

interface ClientParts extends AgentParts {
  model(): Promise<LanguageModel>;
  /** All tools of the agent, not only those of MCP servers. */
  tools(): ToolTable | Promise<ToolTable>;
  toolRenamed(change: RenamedTool): void;
}

/** The MCP servers of an agent. It also knows the input formats of the agent's other tools. */
export class AgentClient extends PocketAgentClient {
  readonly #tools: ClientParts['tools'];

  constructor(agent: PocketAgent<unknown>, parts: ClientParts) {
    super(agentClientOptions(agent, parts));
    this.#tools = parts.tools;
  }

  override async getToolInputFormat(name: string): Promise<Tool['inputSchema']> {
    const found = (await this.#tools()).find(name);
    return found ? inputFormatOf(found.tool) : super.getToolInputFormat(name);
  }
}

function agentClientOptions(agent: PocketAgent<unknown>, parts: ClientParts): PocketAgentClientOptions {
  const { options, model, ledger, toolRenamed } = parts;
  const ownModel: ServerHandlers['samplingHandler'] = async (params, from) =>
    (await import('./sampling.ts')).answerSampling(params, { ...from, model, ledger, logger });
  const samplingHandler = options.samplingHandler === 'agent-model' ? ownModel : options.samplingHandler;
  const { logger } = agent;
  return {
    ...clientOptions(options),
    ...(samplingHandler ? { samplingHandler } : {}),
    elicitationHandler: elicit(agent, options), // always: a run may have an `elicit`
    logger,
    onServerStatus: (server, status, reason) =>
      agent.emit({ type: 'server_status', data: { server, status, ...(reason ? { reason } : {}) } }),
    onServerLog: (log) => agent.emit({ type: 'server_log', data: log }),
    onToolRenamed: toolRenamed,
  };
}

/** Answers the questions that no run answers. */
function elicit(agent: PocketAgent<unknown>, { elicitationHandler }: NestedAgentOptions): ElicitationHandler {
  return async (params, from) => {
    const { logger, mcpClient } = agent;
    const run = currentRun();
    // a question that names no call may be for a run with its own `elicit`
    const isAmbiguous = !run && mcpClient.isCalledWithElicit(from.server);
    if (elicitationHandler && !isAmbiguous) return elicitationHandler(params, from);
    const isForwarded = mcpClient.asksApproval(from.server);
    const { notForwardedText, unanswered } = await import('../access/remote-approval.ts');
    const { isApproval, result } = unanswered(params, isForwarded);
    const who = `MCP server "${from.server}"`;
    const text = isApproval
      ? notForwardedText(who)
      : `${who} asked something and got no answer: ${run ? NO_ELICITATION_HANDLER : AMBIGUOUS}`;
    if (!isApproval || !isForwarded) warnOnce({ logger, about: agent, key: from.server, text });
    return result;
  };
}

const NO_ELICITATION_HANDLER = 'the run has no `elicit` and the agent no `elicitationHandler`.';
const AMBIGUOUS = 'the question names no call, and it is not clear which run it is about.';
