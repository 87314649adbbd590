// The `mcpServers` JSON that Claude Desktop, Cursor and VS Code use, read and checked.

import type { AuthProvider, FetchLike, OAuthClientProvider } from '@modelcontextprotocol/client';
import {
  booleanRule,
  checkValue,
  configError,
  didYouMean,
  functionRule,
  httpUrlHint,
  isRecord,
  nonEmptyRule,
  type OptionRule,
  OptionSet,
  type PocketError,
  positiveInteger,
  positiveNumber,
  readable,
  secretStringList,
  secretStringMap,
  stringRule,
} from '@pocket-agent/kit';
import { capabilities, isCapability, type ServerTrust } from '../access/capabilities.ts';
import { type ExposureOption, exposureRule } from '../access/exposure.ts';
import { type CallerContext, describeCaller } from './callers/caller.ts';
import type { HeadersFunction } from './callers/caller-headers.ts';
import type { OAuthLogin } from './login/oauth.ts';
import type { InProcessServer } from './transports/in-process.ts';

interface CommonEntry extends ServerTrust {
  /** The server is one of our agents: its approval questions go to our approver. Default false. */
  approvals?: boolean;
  disabled?: boolean;
  /** How its tools are shown to the model. Names are those of the server. Default `auto`. */
  exposure?: ExposureOption;
  /** A tool call is cancelled after this time without activity, such as progress. Default 60,000. */
  timeoutMs?: number;
  /** A tool call is cancelled after this time in any case. Default 600,000. */
  maxTimeoutMs?: number;
  /** Default 30,000. */
  connectTimeoutMs?: number;
  /** How long a run waits for this server before it starts without its tools, which join later. Default 10,000. */
  waitMs?: number;
  /** Each caller has its own connection, as with a function for `headers`, `auth` or `env`. Default false. */
  perCaller?: boolean;
  /** Connections of callers that are open at a time. Default 100. */
  maxCallers?: number;
  /** The connection of a caller is closed after this time without use. Default 600,000. */
  idleMs?: number;
}

type EnvFunction = (run: CallerContext) => Record<string, string>;

export interface StdioEntry extends CommonEntry {
  command: string;
  args?: string[];
  /** A function returns the variables for one caller, who has a separate process; `${NAME}` in them is not replaced. */
  env?: Record<string, string> | EnvFunction;
  cwd?: string;
}

type Login = OAuthLogin | AuthProvider | OAuthClientProvider;

export interface HttpEntry extends CommonEntry {
  url: string;
  /** A function is called for each run, and again when the server refuses a request; each caller has its own connection. */
  headers?: Record<string, string> | HeadersFunction;
  /** Default: streamable HTTP, or the old SSE transport if the server supports only that. */
  type?: 'http' | 'streamable-http' | 'sse' | (string & {});
  /** OAuth with a person who logs in, or any provider of the MCP SDK. A function returns that of one caller. */
  auth?: Login | ((run: CallerContext) => Login);
  /** Replaces our `fetch`, which follows redirects to any address. Pass a guarded one for URLs from third parties. */
  fetch?: FetchLike;
}

interface InProcessEntry extends CommonEntry {
  server: InProcessServer;
}

/** How to reach one MCP server: a command, a URL, or a server object of this process. */
export type McpServerEntry = StdioEntry | HttpEntry | InProcessEntry;

interface McpServersConfig {
  mcpServers?: Record<string, McpServerEntry>;
  /** VS Code's name for the same. */
  servers?: Record<string, McpServerEntry>;
}

/** Keys of other MCP hosts in it are ignored. */
export type McpConfig = McpServersConfig | InProcessServer;

type EntryKey = keyof StdioEntry | keyof HttpEntry | keyof InProcessEntry;

const flag: OptionRule = { ...booleanRule, expected: 'true or false, without quotes' };

/** The keys that we know; those of other hosts are ignored. */
const entryKeys = new OptionSet<Record<EntryKey, unknown>>('An MCP server', {
  disabled: flag,
  trust: flag,
  approvals: flag,
  exposure: exposureRule,
  capabilities: { expected: 'an object such as { "search": "read" }', accepts: isRecord },
  timeoutMs: positiveNumber,
  maxTimeoutMs: positiveNumber,
  connectTimeoutMs: positiveNumber,
  waitMs: positiveNumber,
  command: nonEmptyRule,
  args: secretStringList,
  env: mapOrFunction(secretStringMap),
  cwd: stringRule,
  url: stringRule,
  headers: mapOrFunction(secretStringMap),
  perCaller: flag,
  maxCallers: positiveInteger,
  idleMs: positiveNumber,
  type: stringRule,
  auth: {
    expected: 'what fileOAuth gives, a provider of the MCP SDK, or a function that returns one',
    accepts: (value) => isLogin(value) || typeof value === 'function',
    isSecret: true,
  },
  fetch: functionRule,
  server: { expected: 'an McpServer or a function', accepts: isInProcessServer },
});

/** Keys of other hosts (FastMCP, Windsurf, Claude Code, Cline) that look like misspelt keys of ours. */
const foreignKeys: readonly string[] = ['transport', 'serverUrl', 'oauth', 'timeout'];
const otherNames: Readonly<Record<string, string>> = { cmd: 'command', serverUrl: 'url', httpUrl: 'url' };

/** Copies of the enabled entries by name. Throws for entries that cannot work; variables are expanded at connect. */
export function readMcpConfig(config: McpConfig | undefined): Map<string, McpServerEntry> {
  return readable('mcpConfig', () => readEntries(config));
}

function readEntries(config: McpConfig | undefined): Map<string, McpServerEntry> {
  const entries = new Map<string, McpServerEntry>();
  if (!config) return entries;
  if (isInProcessServer(config)) return entries.set('local', { server: config });
  if (typeof config === 'string') {
    throw configError(
      'mcpConfig must be an object with "mcpServers", not a string. From a file: JSON.parse(await readFile(path, "utf8")).',
    );
  }
  const servers = config.mcpServers ?? config.servers;
  if (!isRecord(servers)) {
    const keys = Object.keys(config);
    const misspelt = keys.map((key) => (key in places ? '' : didYouMean(key, Object.keys(places)))).find(Boolean);
    const has = Array.isArray(config) ? 'is a list' : `has ${keys.join(', ') || 'nothing'}`;
    throw configError(`mcpConfig needs an object "mcpServers" (or an McpServer); it ${has}.${misspelt ?? ''}`);
  }
  for (const [name, entry] of Object.entries(servers)) {
    if (!isDisabled(name, entry)) entries.set(name, checkEntry(name, entry));
  }
  return entries;
}

const places: Record<keyof McpServersConfig, true> = { mcpServers: true, servers: true };

function isInProcessServer(value: unknown): value is InProcessServer {
  if (typeof value === 'function') return true;
  if (typeof value !== 'object' || value === null) return false;
  return ['connect', 'createServer'].some((name) => typeof Reflect.get(value, name) === 'function');
}

/** Whether each caller has its own connection to the server. */
export function isPersonal(entry: McpServerEntry): boolean {
  if (entry.perCaller === true) return true;
  if ('command' in entry) return typeof entry.env === 'function';
  return 'url' in entry && (typeof entry.headers === 'function' || typeof entry.auth === 'function');
}

/** The entry for one caller: a function for `env` is called once. */
export function entryFor(server: string, entry: McpServerEntry, owner: CallerContext): McpServerEntry {
  if (!('command' in entry) || typeof entry.env !== 'function') return entry;
  const variables: unknown = entry.env(owner);
  if (variables instanceof Promise) variables.catch(() => {}); // the error below says more
  const isMap = isRecord(variables) && Object.values(variables).every((value) => typeof value === 'string');
  if (!isMap || variables instanceof Promise) {
    const text = `env() of MCP server "${server}" must return an object of strings`;
    throw configError(`${text}, for ${describeCaller(owner)}; it cannot be asynchronous.`);
  }
  // still a function: the values may come from the caller, so `${NAME}` in them is not replaced
  const own = { ...variables } as Record<string, string>;
  return { ...entry, env: () => own };
}

function mapOrFunction(rule: OptionRule): OptionRule {
  return {
    ...rule,
    expected: 'an object of strings, or a function that returns one',
    accepts: (value) => isRecord(value) || typeof value === 'function',
  };
}

function isLogin(value: unknown): boolean {
  if (!isRecord(value)) return false;
  return ['token', 'tokens', 'waitForRedirect'].some((name) => typeof value[name] === 'function');
}

/** Cursor's own form of `auth`. */
function isCursorLogin(value: unknown): boolean {
  return isRecord(value) && 'CLIENT_ID' in value;
}

/** A disabled entry is not checked any further. */
function isDisabled(name: string, entry: McpServerEntry): boolean {
  if (!isRecord(entry) || isInProcessServer(entry)) return false;
  const { disabled = false } = entry;
  checkValue(`MCP server "${name}": disabled`, disabled, flag);
  return disabled;
}

function checkEntry(name: string, entry: McpServerEntry): McpServerEntry {
  if (!isRecord(entry) && !isInProcessServer(entry)) throw configError(`MCP server "${name}" must be an object.`);
  if (isInProcessServer(entry)) return { server: entry };
  // undefined values count as left out
  const copy = Object.fromEntries(
    Object.entries(entry).filter(([key, value]) => value !== undefined && !(key === 'auth' && isCursorLogin(value))),
  ) as unknown as McpServerEntry;
  if (!('server' in copy) && !('command' in copy) && !('url' in copy)) throw noCommandOrUrl(name, copy);
  const own = Object.fromEntries(Object.entries(copy).filter(([key]) => !foreignKeys.includes(key)));
  entryKeys.checkSpelling(own, `MCP server "${name}"`);
  const wrong = Object.entries(copy.capabilities ?? {}).find(([, capability]) => !isCapability(capability));
  if (wrong) {
    throw configError(
      `MCP server "${name}": capability "${wrong[1]}" of "${wrong[0]}" must be one of ${capabilities.join(', ')}.`,
    );
  }
  if ('server' in copy) return copy;
  if ('command' in copy && 'url' in copy)
    throw configError(`MCP server "${name}" has both "command" and "url"; keep one.`);
  if ('command' in copy) return copy;
  // a URL with a variable is checked at connect
  if (!copy.url.includes('${')) checkUrl(name, copy.url);
  const type = copy.type ?? ('transport' in copy ? copy.transport : undefined); // FastMCP calls it transport
  if (type !== undefined && type !== 'http' && type !== 'streamable-http' && type !== 'sse') {
    throw configError(
      `MCP server "${name}": type "${String(type)}" with a "url" must be http, streamable-http or sse.`,
    );
  }
  return { ...copy, ...(type ? { type } : {}) };
}

function noCommandOrUrl(name: string, entry: object): PocketError {
  const meant = (key: string) => {
    const other = Object.hasOwn(otherNames, key) ? otherNames[key] : undefined;
    return other ? ` Did you mean "${other}"?` : didYouMean(key, ['command', 'url']);
  };
  const misspelt = Object.keys(entry).find((key) => key !== 'url' && key !== 'command' && meant(key));
  const hint = misspelt ? ` It has "${misspelt}".${meant(misspelt)}` : '';
  return configError(
    `MCP server "${name}" needs a "command" (a program to start) or a "url" (a remote server).${hint}`,
  );
}

/** Throws unless it is an HTTP URL. The error shows `written`, because expanded variables may be secret. */
export function checkUrl(server: string, url: string, written = url): void {
  const instead = httpUrlHint(url);
  if (instead === undefined) return;
  const advice = written === url ? instead : 'It must begin with http:// or https://.';
  throw configError(`MCP server "${server}": url must be a whole address, got "${written}". ${advice}`);
}

/** Expands `${NAME}`, `${env:NAME}` and `${NAME:-default}`. `owner` is what errors name. */
export function expandVariables(owner: string, text: string): string {
  const [vsCodeVariable] = /\$\{(?:input|command|config):[A-Za-z_][^}]*\}/.exec(text) ?? [];
  if (vsCodeVariable) {
    throw configError(
      `${owner} needs ${vsCodeVariable}, which only VS Code can fill in: write \${NAME}, and set the environment variable NAME.`,
    );
  }
  return text.replace(/\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g, (_whole, name: string, fallback) => {
    const value = process.env[name] ?? fallback;
    if (value === undefined) {
      throw configError(`${owner} needs the environment variable ${name}, which is not set.`);
    }
    return value;
  });
}
