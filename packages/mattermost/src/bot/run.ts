// Runs the bot of the command until the process gets a signal.
import { once } from 'node:events';
import { errorText, installCommand } from '@pocket-agent/kit';
import type { Runs } from '@pocket-agent/runs';
import type { Conversations } from '@pocket-agent/store';
import type { StudioAddress } from '@pocket-agent/studio';
import type { NestedAgentOptions, PocketAgent } from 'pocket-agent';
import { MattermostError } from '../base/errors.ts';
import { createLog } from '../base/log.ts';
import { loadPocketAgent, MattermostTools } from './agent-factory.ts';
import { readAgentOptions } from './agent-file.ts';
import { createMattermostBot } from './bot.ts';
import type { BotCommand } from './command-line.ts';
import type { DurableAnswersOptions } from './durable/bot-runs.ts';
import { summarizeBy } from './posts/thread-summary.ts';

/** The name of the agent in the durable runs. */
const AGENT = 'mattermost-bot';

export async function runBot({
  config,
  agentFile,
  model,
  profile,
  defaultCapability,
  mayStop,
  allowLinkHosts,
  database,
  runs: runsPlace,
  studio: studioAddress,
  callbacks,
}: BotCommand): Promise<void> {
  const log = createLog({ level: config.logLevel, format: config.logFormat });
  // an unhandled rejection in a tool must not end all conversations
  process.on('unhandledRejection', (error) => {
    log.error('unhandled_rejection', { error: error instanceof Error ? error.name : typeof error });
    log.debug('unhandled_rejection', { reason: errorText(error) });
  });
  const options = await readAgentOptions({ file: agentFile, model, defaultCapability });
  if (options.memory && database === undefined)
    throw new MattermostError('CONFIG_INVALID', `${agentFile}: memory needs a database: --database.`);
  const conversations = database === undefined ? undefined : await openDatabase(database);
  if (options.memory && conversations && runsPlace !== undefined) options.memory = conversations.memory;
  const tools = profile === 'none' ? undefined : new MattermostTools({ config, profile, log });
  // this agent owns the MCP connections; each conversation uses a fork of it
  const agent = await createAgent(options, tools);
  const tokenRejected = Promise.withResolvers<never>();
  let runs: Runs | undefined;
  let studio: StudioAddress | undefined;
  try {
    if (runsPlace !== undefined) runs = await openRunsAt(runsPlace, agent);
    if (studioAddress !== undefined) studio = await openStudioAt(studioAddress, runs);
    if (studio) log.info('studio', { url: shownUrl(studio) });
    const bot = await createMattermostBot({
      config,
      mayStop,
      allowLinkHosts,
      log,
      conversations,
      profile: 'none', // the agent already has the tools
      ...(studio ? { watch: studio.watch } : {}),
      ...(runs ? { durable: durableAnswers(runs, agent) } : { agent: () => agent.fork() }),
      ...(callbacks ? { callbacks } : {}),
      onRefused: () =>
        tokenRejected.reject(new MattermostError('AUTHENTICATION_FAILED', 'MATTERMOST_TOKEN is no longer valid.')),
    });
    log.info('listening', { username: bot.username, profile });
    const stop = ['SIGTERM', 'SIGINT', 'SIGHUP'].map((signal) => once(process, signal));
    try {
      await Promise.race([...stop, tokenRejected.promise]);
      log.info('stopping');
    } finally {
      await bot.close();
    }
  } finally {
    await studio?.close();
    await runs?.close();
    await agent.close();
    await conversations?.close();
    tools?.close();
  }
}

function durableAnswers(runs: Runs, agent: PocketAgent): DurableAnswersOptions {
  return { runs, agent: AGENT, allowImages: agent.allowImages, summarize: summarizeBy(agent) };
}

async function openDatabase(place: string): Promise<Conversations> {
  const { openConversations } = await import('@pocket-agent/store').catch((cause: unknown) => {
    const text = `--database needs the package @pocket-agent/store: ${installCommand('@pocket-agent/store')}.`;
    throw new MattermostError('CONFIG_INVALID', text, { cause });
  });
  return openConversations(place).catch((cause: unknown) => {
    throw new MattermostError('CONFIG_INVALID', errorText(cause), { cause });
  });
}

async function openRunsAt(place: string, agent: PocketAgent): Promise<Runs> {
  const { openRuns } = await import('@pocket-agent/runs').catch((cause: unknown) => {
    const text = `--runs needs the package @pocket-agent/runs: ${installCommand('@pocket-agent/runs')}.`;
    throw new MattermostError('CONFIG_INVALID', text, { cause });
  });
  const url = /^(?:sqlite:|postgres(?:ql)?:\/\/)/.test(place) ? place : `sqlite:${place}`;
  return openRuns({ url, agents: { [AGENT]: () => agent } }).catch((cause: unknown) => {
    throw new MattermostError('CONFIG_INVALID', errorText(cause), { cause });
  });
}

async function openStudioAt(address: string, runs: Runs | undefined): Promise<StudioAddress> {
  const { openStudioAddress } = await import('@pocket-agent/studio').catch((cause: unknown) => {
    const text = `--studio needs the package @pocket-agent/studio: ${installCommand('@pocket-agent/studio')}.`;
    throw new MattermostError('CONFIG_INVALID', text, { cause });
  });
  const token = process.env.POCKET_AGENT_STUDIO_TOKEN;
  return openStudioAddress({ address, ...(runs ? { runs } : {}), ...(token ? { token } : {}) }).catch(
    (cause: unknown) => {
      throw new MattermostError('CONFIG_INVALID', `--studio: ${errorText(cause)}`, { cause });
    },
  );
}

/** A token that the operator chose stays out of the log. */
function shownUrl({ url }: StudioAddress): string {
  return process.env.POCKET_AGENT_STUDIO_TOKEN ? new URL(url).origin : url;
}

/** Resolves the model first, so that a missing package or key is reported at startup. */
async function createAgent(options: NestedAgentOptions, tools: MattermostTools | undefined): Promise<PocketAgent> {
  const { PocketAgent, resolveModel } = await loadPocketAgent();
  try {
    const { llmModel, modelSettings } = options.agentConfig;
    await resolveModel(llmModel, modelSettings);
    return new PocketAgent(tools ? await tools.addTo(options) : options);
  } catch (error) {
    tools?.close();
    throw new MattermostError('CONFIG_INVALID', errorText(error), { cause: error });
  }
}
