// The command `pocket-agent gateway`: serves all servers of a file behind one endpoint, and manages the callers.
import { type Stats, unwatchFile, watchFile as watch } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import type { Gateway, GatewayListenOptions, GatewayOptions, GatewayState } from '@pocket-agent/gateway';
import { didYouMean, errorText, isPocketError, PocketError, printable, withoutUndefined } from '@pocket-agent/kit';
import type { ConfirmPolicy } from 'pocket-agent';
import { readArguments, wholeNumber } from '../../command-line/arguments.ts';
import {
  type Address,
  explainStdio,
  httpOptions,
  listenUntilStopped,
  readAddress,
} from '../../command-line/http-options.ts';
import type { Interrupts } from '../../command-line/interrupts.ts';
import { type ApprovalsRequest, approvalsCommand } from '../../gateway/gateway-approvals.ts';
import { GatewayFile } from '../../gateway/gateway-file.ts';
import { type LoginRequest, loginCommand, logoutCommand } from '../../gateway/gateway-login.ts';
import { loginsCommand, readLogins } from '../../gateway/gateway-logins.ts';
import { gatewayState, type TokenRequest, tokenCommand } from '../../gateway/gateway-tokens.ts';
import { accessFlags } from '../../setup/agent-request.ts';
import { screenLogger } from '../../terminal/screen-logger.ts';

/** How often the file is checked for changes. */
const WATCH_MS = 1_000;
/** What is read from the file only at the start. */
const START_KEYS = ['name', 'oauth', 'approvals'] as const;
/** How long calls in progress may take after a signal to stop. A second signal ends the program at once. */
const DRAIN_MS = 25_000;

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
  'usd-per-day': { type: 'string' },
  approver: { type: 'boolean' },
  arguments: { type: 'string' },
  always: { type: 'boolean' },
  url: { type: 'string' },
  json: { type: 'boolean', default: false },
} as const;

const tokenOptions = ['server', 'per-minute', 'per-day', 'usd-per-day', 'approver'] as const;
const answerOptions = ['arguments', 'always'] as const;
const TOKEN = 'POCKET_AGENT_GATEWAY_TOKEN';
const LOGIN_KEY = 'POCKET_AGENT_GATEWAY_LOGIN_KEY';

export async function command(args: readonly string[], interrupts: Interrupts): Promise<number> {
  const { values, positionals } = readArguments(args, gatewayOptions);
  const [first, ...others] = positionals;
  if (first === 'token') return tokenCommand(tokenRequest(others, values));
  if (first === 'approvals') return approvalsCommand(approvalsRequest(others, values));
  if (first === 'login') return loginCommand(loginRequest(first, others, values), interrupts.signal);
  if (first === 'logout') return logoutCommand(loginRequest(first, others, values));
  if (first === 'logins') return loginsCommand(readLogins(others, { state: values.state, json: values.json }));
  if (first === undefined || others.length > 0) {
    const hint = didYouMean(first ?? '', ['token', 'approvals', 'login', 'logout', 'logins']);
    throw new PocketError('CONFIG_INVALID', `Give one file with "mcpServers": pocket-agent gateway FILE.${hint}`);
  }
  const unused = tokenOptions.find((name) => values[name] !== undefined);
  if (unused) throw new PocketError('CONFIG_INVALID', `--${unused} belongs to pocket-agent gateway token add.`);
  const other = answerOptions.find((name) => values[name] !== undefined);
  if (other) throw new PocketError('CONFIG_INVALID', `--${other} belongs to pocket-agent gateway approvals allow.`);
  if (values.url !== undefined)
    throw new PocketError('CONFIG_INVALID', '--url belongs to pocket-agent gateway login and logout.');
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
  const logger = screenLogger(tell, 'warn');
  const source = new GatewayFile(file, { logger, signal: interrupts.signal, tell });
  const access = values.confirm === undefined ? {} : { confirm: values.confirm as ConfirmPolicy };
  const read = async () => {
    const options = await source.read();
    return { ...options, access: { ...options.access, ...access } };
  };
  let state: GatewayState | undefined;
  let gateway: Gateway | undefined;
  let unwatch = () => {};
  try {
    const options = await read();
    const { Gateway } = await import('@pocket-agent/gateway');
    state = address || options.approvals?.endpoint ? await gatewayState(values.state) : undefined;
    const open = new Gateway({ ...options, ...(await forCode()), logger, ...(state ? { state, ...loginKey() } : {}) });
    gateway = open;
    const reread = async () => {
      const next = await read();
      open.update(next);
      const kept = START_KEYS.filter((key) => !isDeepStrictEqual(next[key], options[key]));
      const hint = kept.length > 0 ? ` Start the gateway again to use the changes of ${kept.join(', ')}.` : '';
      tell(`${file} was read again.${hint}`);
    };
    unwatch = watchFile(file, () => reread().catch((error) => tell(`${file} was not used: ${errorText(error)}`)));
    if (!address) {
      explainStdio();
      const { profile } = values;
      await open.serveStdio({ ...(profile === undefined ? {} : { profile }), expose: readExpose(values.expose) });
      return 0;
    }
    if (!options.oauth && (await state?.callers())?.length === 0)
      tell('There are no callers yet: pocket-agent gateway token add NAME --profile reader');
    const listen = async () => {
      const server = await open.listen(listenOptions(address, values));
      const close = async () => {
        await open.drain(DRAIN_MS);
        await server.close();
      };
      return { url: server.url, close };
    };
    return await listenUntilStopped(interrupts, address, listen, { needsToken: true });
  } finally {
    unwatch();
    await gateway?.close();
    await state?.close();
    await source.close();
  }
}

function listenOptions({ token: _none, ...address }: Address, values: Values): GatewayListenOptions {
  const metricsToken = process.env.POCKET_AGENT_GATEWAY_METRICS_TOKEN || undefined;
  return withoutUndefined({
    ...address,
    allowedHosts: values['allow-host'],
    allowedOrigins: values['allow-origin'],
    metricsToken,
  });
}

/** Calls `read` after each change of the file, one reading after the other. Returns a function that ends this. */
function watchFile(file: string, read: () => Promise<void>): () => void {
  let last = Promise.resolve();
  const onChange = (now: Stats, before: Stats) => {
    if (now.mtimeMs !== before.mtimeMs) last = last.then(read);
  };
  watch(file, { interval: WATCH_MS, persistent: false }, onChange);
  return () => unwatchFile(file, onChange);
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
  const usdPerDay = dollars('usd-per-day', values['usd-per-day']);
  const settings = { servers, expose, callsPerMinute, callsPerDay, usdPerDay, approves: values.approver };
  return { action, name: name ?? '', state, profile, settings, json };
}

function dollars(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text.trim() !== '' && value > 0 && Number.isFinite(value)) return value;
  throw new PocketError('CONFIG_INVALID', `--${option} must be a number of US dollars above 0, not "${text}".`);
}

function approvalsRequest([action = 'list', id, ...words]: readonly string[], values: Values): ApprovalsRequest {
  if (action !== 'list' && action !== 'allow' && action !== 'deny')
    throw new PocketError('CONFIG_INVALID', 'pocket-agent gateway approvals takes list, allow ID or deny ID [REASON].');
  if ((action === 'list') !== (id === undefined) || (action === 'allow' && words.length > 0))
    throw new PocketError(
      'CONFIG_INVALID',
      action === 'list'
        ? '"list" takes no more words: pocket-agent gateway approvals list'
        : `Give the ID of one question: pocket-agent gateway approvals ${action} ID`,
    );
  const { state, json, always = false } = values;
  return { action, id: id ?? '', reason: words.join(' '), args: values.arguments, always, state, json };
}

function loginRequest(
  action: 'login' | 'logout',
  [server, ...more]: readonly string[],
  { url, json }: Values,
): LoginRequest {
  const token = process.env[TOKEN];
  const needsServer = action === 'logout';
  if (url === undefined || more.length > 0 || (needsServer && server === undefined)) {
    const usage = `${action} ${needsServer ? 'SERVER' : '[SERVER]'}`;
    throw new PocketError('CONFIG_INVALID', `pocket-agent gateway ${usage} --url https://gateway.example.com`);
  }
  if (!URL.canParse(url) || !/^https?:/.test(url))
    throw new PocketError('CONFIG_INVALID', `--url must be the address of the gateway, not "${url}".`);
  if (!token) throw new PocketError('CONFIG_INVALID', `Put your token for the gateway into the variable ${TOKEN}.`);
  return { server, gateway: new URL(url), token, json };
}

/** Encrypts the logins of callers in the state. */
function loginKey(): Pick<GatewayOptions, 'loginKey'> {
  const key = process.env[LOGIN_KEY];
  return key ? { loginKey: key } : {};
}

/** The sandbox for callers with `--expose code`; empty if its engine is not installed. */
async function forCode(): Promise<Pick<GatewayOptions, 'codeMode'>> {
  const { codeMode } = await import('@pocket-agent/code-mode');
  try {
    return { codeMode: codeMode() };
  } catch (error) {
    if (isPocketError(error, 'CONFIG_INVALID')) return {};
    throw error;
  }
}

function readExpose(word: string | undefined): 'direct' | 'search' | 'code' | undefined {
  if (word === undefined || word === 'direct' || word === 'search' || word === 'code') return word;
  throw new PocketError('CONFIG_INVALID', `--expose must be direct, search or code, not "${word}".`);
}
