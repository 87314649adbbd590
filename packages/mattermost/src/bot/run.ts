// Runs the bot of the command until the process is told to stop.
import { once } from 'node:events';
import { readConfig } from '../config.ts';
import { MattermostError } from '../errors.ts';
import { createLog } from '../log.ts';
import { readAgentOptions } from './agent-file.ts';
import { loadPocketAgent, MattermostTools } from './agent-maker.ts';
import { createMattermostBot } from './bot.ts';
import type { BotCommand } from './command-line.ts';

export async function runBot({ environment, agentFile, model, profile, mayStop }: BotCommand): Promise<void> {
  const config = readConfig({ ...environment, MCP_TRANSPORT: 'stdio' });
  const log = createLog({ level: config.logLevel, format: config.logFormat });
  const { PocketAgent } = await loadPocketAgent();
  const options = await readAgentOptions({ file: agentFile, model });
  const tools = profile === 'none' ? undefined : new MattermostTools({ config, profile, log });
  // one agent holds the connections; each conversation has one of the same making
  const agent = new PocketAgent(tools ? await tools.addTo(options) : options);
  const refused = Promise.withResolvers<never>();
  try {
    const bot = await createMattermostBot({
      config,
      mayStop,
      log,
      profile: 'none', // the agent has them already
      agent: () => agent.fork(),
      onRefused: () =>
        refused.reject(new MattermostError('AUTHENTICATION_FAILED', 'MATTERMOST_TOKEN is valid no longer.')),
    });
    log.info('listening', { username: bot.username });
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
