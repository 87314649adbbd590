// Runs the bot of the command until the process is told to stop.
import { once } from 'node:events';
import type { PocketAgent, PocketAgentOptions } from 'pocket-agent';
import { errorText, MattermostError } from '../base/errors.ts';
import { createLog } from '../base/log.ts';
import { readAgentOptions } from './agent-file.ts';
import { loadPocketAgent, MattermostTools } from './agent-maker.ts';
import { createMattermostBot } from './bot.ts';
import type { BotCommand } from './command-line.ts';

export async function runBot({
  config,
  agentFile,
  model,
  profile,
  defaultCapability,
  mayStop,
  allowLinkHosts,
}: BotCommand): Promise<void> {
  const log = createLog({ level: config.logLevel, format: config.logFormat });
  // a promise that a tool forgot is no reason to end the conversations of everybody else
  process.on('unhandledRejection', (error) => {
    log.error('promise_forgotten', { error: error instanceof Error ? error.name : typeof error });
    log.debug('promise_forgotten', { reason: errorText(error) });
  });
  const options = await readAgentOptions({ file: agentFile, model, defaultCapability });
  const tools = profile === 'none' ? undefined : new MattermostTools({ config, profile, log });
  // one agent holds the connections; each conversation has one of the same making
  const agent = await makeAgent(options, tools);
  const refused = Promise.withResolvers<never>();
  try {
    const bot = await createMattermostBot({
      config,
      mayStop,
      allowLinkHosts,
      log,
      profile: 'none', // the agent has them already
      agent: () => agent.fork(),
      onRefused: () =>
        refused.reject(new MattermostError('AUTHENTICATION_FAILED', 'MATTERMOST_TOKEN is valid no longer.')),
    });
    log.info('listening', { username: bot.username, profile });
    const stop = ['SIGTERM', 'SIGINT', 'SIGHUP'].map((signal) => once(process, signal));
    try {
      await Promise.race([...stop, refused.promise]);
      log.info('stopping');
    } finally {
      await bot.close();
    }
  } finally {
    await agent.close();
    tools?.close();
  }
}

/** With a model that can be used: nobody should learn from an unanswered question that a key is missing. */
async function makeAgent(options: PocketAgentOptions, tools: MattermostTools | undefined): Promise<PocketAgent> {
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
