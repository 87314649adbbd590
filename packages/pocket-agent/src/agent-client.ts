// The client of an agent: what servers ask and tell is answered by, and shown to, the agent whose calls it is about.
import { clientOptions, type PocketAgentOptions } from './agent-config.ts';
import type { PocketAgentClient, PocketAgentClientOptions } from './client.ts';
import { approverOf } from './gate.ts';
import type { Ledger } from './ledger.ts';
import type { Logger } from './logger.ts';
import type { LanguageModel } from './model.ts';
import { currentFrame, type RunFrame } from './run-frame.ts';
import type { ServerHandlers } from './server-requests.ts';
import type { RenamedTool } from './tools.ts';
import type { Turns } from './turns.ts';

export interface ClientOwner {
  options: PocketAgentOptions;
  logger: Logger;
  turns: Turns;
  ledger: Ledger;
  client(): PocketAgentClient;
  model(): Promise<LanguageModel>;
  toolRenamed(change: RenamedTool): void;
}

export function agentClientOptions(owner: ClientOwner): PocketAgentClientOptions {
  const { options, logger, turns, toolRenamed } = owner;
  const samplingHandler = options.samplingHandler === 'agent-model' ? ownModel(owner) : options.samplingHandler;
  return {
    ...clientOptions(options),
    ...(samplingHandler ? { samplingHandler } : {}),
    elicitationHandler: elicit(owner),
    canElicit: () => {
      const frame = currentFrame() ?? turns.active;
      if (options.elicitationHandler !== undefined || frame?.elicit !== undefined) return true;
      return frame !== undefined && approverOf(frame) !== undefined;
    },
    logger,
    onServerStatus: (server, status, reason) =>
      turns.emit({ type: 'server_status', data: { server, status, ...(reason ? { reason } : {}) } }),
    onServerLog: (log) => turns.emit({ type: 'server_log', data: log }),
    onToolRenamed: toolRenamed,
  };
}

/** What a server samples goes on the account of the run that calls it. */
function ownModel({ turns, ledger, client, model }: ClientOwner): NonNullable<ServerHandlers['samplingHandler']> {
  return async (params, { signal }) => {
    const { sample } = await import('./sampling.ts');
    const own = await model();
    // a fork calls through the same client
    const frame: RunFrame | undefined = turns.active ?? [...client().callers].at(-1);
    if (frame) await ledger.beforeModelCall(frame, own);
    return sample(own, params, signal, async (answer) => frame && ledger.enter(frame, own, answer));
  };
}

/** A question of another agent of ours goes to whoever approves for this one. */
function elicit({ options, client, logger }: ClientOwner): NonNullable<ServerHandlers['elicitationHandler']> {
  let told: Set<string> | undefined;
  return async (params, from) => {
    const { callers } = client();
    // with several runs under way nobody knows whose call it is about
    const frame = callers.size === 1 ? [...callers][0] : undefined;
    const isPassedOn = client().asksApproval(from.server);
    const { answerApproval, declined, notPassedOnText } = await import('./remote-approval.ts');
    const answer = isPassedOn ? await answerApproval(params, from.server, frame) : undefined;
    if (answer) return answer;
    const ask = frame?.elicit ?? options.elicitationHandler;
    if (ask) return ask(params, from);
    const { isApproval, result } = declined(params, isPassedOn);
    told ??= new Set();
    if (isApproval && !isPassedOn && told.size < told.add(from.server).size)
      logger.warn(notPassedOnText(`MCP server "${from.server}"`));
    return result;
  };
}
