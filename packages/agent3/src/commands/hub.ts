// `agent3 hub`: serves the HTTP API, web pages and MCP until the process is stopped.
import { once } from 'node:events';
import { stderrLogger } from '@pocket-agent/kit';
import { Agent3Error } from '../base/agent3-error.ts';
import { serveHub } from '../hub/hub.ts';
import { openLocal, ownerTokens, spendingLimitOf } from '../hub/open.ts';
import { readSettings } from '../hub/options.ts';
import { readArguments } from './arguments.ts';

export async function command(args: readonly string[]): Promise<number> {
  const { values } = readArguments({
    args: [...args],
    options: { host: { type: 'string' }, port: { type: 'string' } },
  });
  const { host, port } = values;
  const settings = readSettings({
    ...process.env,
    ...(host === undefined ? {} : { AGENT3_HOST: host }),
    ...(port === undefined ? {} : { AGENT3_PORT: port }),
  });
  if (settings.remote)
    throw new Agent3Error('CONFIG_INVALID', 'AGENT3_HUB_URL is set to another hub; unset it to run a hub here');
  const stop = AbortSignal.any([stopped('SIGTERM'), stopped('SIGINT'), stopped('SIGHUP')]);
  const { isPrivate, confirm, allowedHosts, publicUrl, databaseUrl, tokenKey, secretKey } = settings;
  const logger = stderrLogger(settings.logLevel);
  if (databaseUrl && !tokenKey && !secretKey)
    logger.warn('other hubs on this database will refuse its tokens: set the same AGENT3_TOKEN_KEY for all of them');
  const agent3 = await openLocal(settings);
  try {
    const tokens = await ownerTokens(settings);
    const hub = await serveHub({
      agent3,
      tokens,
      isPrivate,
      confirm,
      spendingLimit: spendingLimitOf(settings),
      host: settings.host,
      port: settings.port,
      allowedHosts,
      logger,
    });
    process.stdout.write(`Agent3 is at ${publicUrl ?? hub.url} (API: /api, described by /openapi.json; MCP: /mcp)\n`);
    if (!stop.aborted) await once(stop, 'abort');
    await hub.close();
  } finally {
    await agent3.close();
  }
  return 0;
}

function stopped(signal: NodeJS.Signals): AbortSignal {
  const controller = new AbortController();
  process.once(signal, () => controller.abort());
  return controller.signal;
}
