// The command `pocket-agent gateway`: serves all servers of a file behind one endpoint, and manages the callers.
import { PocketError, printable } from '@pocket-agent/kit';
import type { ConfirmPolicy } from 'pocket-agent';
import { readArguments, wholeNumber } from '../command-line/arguments.ts';
import { explainStdio, httpOptions, listenUntilStopped, readAddress } from '../command-line/http-options.ts';
import type { Interrupts } from '../command-line/interrupts.ts';
import { accessFlags } from '../setup/agent-request.ts';
import { readGatewayFile } from '../setup/gateway-file.ts';
import { gatewayState, type TokenRequest, tokenCommand } from '../setup/gateway-tokens.ts';
import { closeFolders } from '../setup/tool-sources.ts';
import { screenLogger } from '../terminal/screen-logger.ts';

const { token: _noToken, ...addressOptions } = httpOptions;

const gatewayOptions = {
  ...addressOptions,
  ...accessFlags,
  state: { type: 'string' },
  'allow-host': { type: 'string', multiple: true },
  'allow-origin': { type: 'string', multiple: true },
  expose: { type: 'string' },
  server: { type: 'string', multiple: true },
  'per-minute': { type: 'string' },
  'per-day': { type: 'string' },
  json: { type: 'boolean', default: false },
} as const;

export async function command(args: readonly string[], interrupts: Interrupts): Promise<number> {
  const { values, positionals } = readArguments(args, gatewayOptions);
  const [first, ...others] = positionals;
  if (first === 'token') return tokenCommand(tokenRequest(others, values));
  if (first === undefined || others.length > 0)
    throw new PocketError('CONFIG_INVALID', 'Give one file with "mcpServers": pocket-agent gateway FILE');
  const unused = (['server', 'per-minute', 'per-day'] as const).find((name) => values[name] !== undefined);
  if (unused) throw new PocketError('CONFIG_INVALID', `--${unused} belongs to pocket-agent gateway token add.`);
  return serve(first, values, interrupts);
}

type Values = ReturnType<typeof readArguments<typeof gatewayOptions>>['values'];

async function serve(file: string, values: Values, interrupts: Interrupts): Promise<number> {
  const address = readAddress(values);
  for (const name of ['profile', 'expose'] as const)
    if (address && values[name] !== undefined)
      throw new PocketError('CONFIG_INVALID', `--${name} is for stdin and stdout: over HTTP each token has its own.`);
  // stdout carries the protocol
  const tell = (line: string) => void process.stderr.write(`${printable(line)}\n`);
  const logger = screenLogger(tell);
  const setup = await readGatewayFile(file, { logger, signal: interrupts.signal });
  for (const line of setup.problems) tell(line);
  const state = address ? await gatewayState(values.state) : undefined;
  try {
    const { Gateway } = await import('@pocket-agent/gateway');
    const { confirm } = values;
    const access = { ...setup.options.access, ...(confirm === undefined ? {} : { confirm: confirm as ConfirmPolicy }) };
    await using gateway = new Gateway({ ...setup.options, access, ...(state ? { state } : {}) });
    if (!address) {
      explainStdio();
      const { profile } = values;
      await gateway.serveStdio({ ...(profile === undefined ? {} : { profile }), expose: readExpose(values.expose) });
      return 0;
    }
    if ((await state?.callers())?.length === 0)
      tell('There are no callers yet: pocket-agent gateway token add NAME --profile reader');
    const { token: _none, ...where } = address;
    const [allowedHosts, allowedOrigins] = [values['allow-host'], values['allow-origin']];
    const guarded = { ...(allowedHosts ? { allowedHosts } : {}), ...(allowedOrigins ? { allowedOrigins } : {}) };
    return await listenUntilStopped(interrupts, address, () => gateway.listen({ ...where, ...guarded }), {
      needsToken: true,
    });
  } finally {
    await closeFolders(setup.folders);
    await state?.close();
  }
}

function tokenRequest([action, name, ...more]: readonly string[], values: Values): TokenRequest {
  if (action !== 'add' && action !== 'list' && action !== 'revoke')
    throw new PocketError('CONFIG_INVALID', 'pocket-agent gateway token takes add NAME, list or revoke NAME.');
  if ((action === 'list') !== (name === undefined) || more.length > 0)
    throw new PocketError('CONFIG_INVALID', `pocket-agent gateway token ${action}${action === 'list' ? '' : ' NAME'}`);
  const { state, profile, server: servers, json } = values;
  const expose = readExpose(values.expose);
  const callsPerMinute = wholeNumber('per-minute', values['per-minute']);
  const callsPerDay = wholeNumber('per-day', values['per-day']);
  return { action, name: name ?? '', state, profile, settings: { servers, expose, callsPerMinute, callsPerDay }, json };
}

function readExpose(word: string | undefined): 'direct' | 'search' | undefined {
  if (word === undefined || word === 'direct' || word === 'search') return word;
  throw new PocketError('CONFIG_INVALID', `--expose must be direct or search, not "${word}".`);
}
