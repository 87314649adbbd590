// `agent3`: MCP on stdin and stdout, until the client disconnects.
import { serveStdio } from '@pocket-agent/http/mcp';
import { stderrLogger } from '@pocket-agent/kit';
import { openBySettings, spendingLimitOf } from '../hub/open.ts';
import { readSettings } from '../hub/options.ts';
import { mcpServerFactory } from '../mcp/mcp-server.ts';
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
