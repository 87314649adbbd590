// `agent3`: MCP on stdin and stdout, until the client goes away.
import { serveStdio } from '@pocket-agent/http/mcp';
import { stderrLogger } from 'pocket-agent';
import { mcpServerFactory } from '../front/mcp-server.ts';
import { openBySettings } from '../open.ts';
import { readSettings } from '../options.ts';
import { readArguments } from './arguments.ts';

export async function command(args: readonly string[]): Promise<number> {
  readArguments({ args: [...args], options: {} });
  const settings = readSettings(process.env);
  const logger = stderrLogger(settings.logLevel);
  const agent3 = await openBySettings(settings);
  await serveStdio(mcpServerFactory({ agent3, confirm: settings.confirm, logger }), {
    onError: (error) => logger.debug('MCP', { reason: error.message }),
    close: () => agent3.close(),
  });
  return 0;
}
