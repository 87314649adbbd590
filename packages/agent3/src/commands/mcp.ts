// `agent3`: MCP on stdin and stdout, until the client goes away.
import { serveStdio } from '@pocket-agent/http/mcp';
import { stderrLogger } from 'pocket-agent';
import { mcpServerFactory } from '../front/mcp-server.ts';
import { openBySettings, spendingLimitOf } from '../open.ts';
import { readSettings } from '../options.ts';
import { readArguments } from './arguments.ts';

export async function command(args: readonly string[]): Promise<number> {
  readArguments({ args: [...args], options: {} });
  const settings = readSettings(process.env);
  const logger = stderrLogger(settings.logLevel);
  const { confirm } = settings;
  const spendingLimit = spendingLimitOf(settings);
  const agent3 = await openBySettings(settings);
  await serveStdio(mcpServerFactory({ agent3, confirm, spendingLimit, logger }), {
    onError: (error) => logger.debug('MCP', { reason: error.message }),
    close: () => agent3.close(),
  });
  return 0;
}
