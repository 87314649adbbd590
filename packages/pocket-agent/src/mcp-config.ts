// The `mcpServers` JSON that Claude Desktop, Cursor and VS Code use, read and checked.

import type { AuthProvider, FetchLike, OAuthClientProvider } from '@modelcontextprotocol/client';
import type { McpServer, Server } from '@modelcontextprotocol/server';
import { capabilities, isCapability, type ServerTrust } from './access.ts';
import { PocketError } from './errors.ts';
import type { OAuthLogin } from './oauth.ts';
import { didYouMean } from './suggest.ts';

/** An MCP server of this process. A factory can be used by many agents; one server object by one agent. */
export type InProcessServer = McpServer | Server | (() => McpServer | Server);

interface CommonEntry extends ServerTrust {
  /** The server is an agent of ours: what it asks approval for is put to our own approver. Default false. */
  approvals?: boolean;
  disabled?: boolean;
  /** A tool call is given up after this long without a sign of life; progress counts as one. Default 60,000. */
  timeoutMs?: number;
  /** A tool call is given up after this long whatever happens. Default 600,000. */
  maxTimeoutMs?: number;
  /** Default 30,000. */
  connectTimeoutMs?: number;
}

export interface StdioEntry extends CommonEntry {
  command: string;
  args?: string[];
  env?: Record<string, string>;
  cwd?: string;
}

export interface HttpEntry extends CommonEntry {
  url: string;
  headers?: Record<string, string>;
  /** Without it: streamable HTTP, and the old SSE transport when the server knows no other. */
  type?: 'http' | 'streamable-http' | 'sse' | (string & {});
  /** OAuth with a person who logs in, or any provider of the MCP SDK. */
  auth?: OAuthLogin | AuthProvider | OAuthClientProvider;
  /** Instead of our own, which goes wherever the server sends it: for addresses that strangers gave, for example. */
  fetch?: FetchLike;
}

interface InProcessEntry extends CommonEntry {
  server: InProcessServer;
}

export type McpServerEntry = StdioEntry | HttpEntry | InProcessEntry;

interface McpServersConfig {
  mcpServers?: Record<string, McpServerEntry>;
  /** VS Code's name for the same. */
  servers?: Record<string, McpServerEntry>;
}

/** The JSON of hosts carries keys of their own, which are left alone. */
export type McpConfig = McpServersConfig | InProcessServer;

/** The enabled servers by name, copied. Throws for what can never work; a missing variable shows at connect. */
export function readMcpConfig(config: McpConfig | undefined): Map<string, McpServerEntry> {
  const entries = new Map<string, McpServerEntry>();
  if (!config) return entries;
  if (isInProcessServer(config)) return entries.set('local', { server: config });
  const servers = config.mcpServers ?? config.servers;
  if (typeof servers !== 'object' || servers === null) {
    const keys = Object.keys(config).join(', ') || 'nothing';
    throw invalid(`mcpConfig needs an object "mcpServers" (or an McpServer); it has ${keys}.`);
  }
  for (const [name, entry] of Object.entries(servers)) {
    if (!entry?.disabled) entries.set(name, checkEntry(name, entry));
  }
  return entries;
}

function isInProcessServer(value: unknown): value is InProcessServer {
  if (typeof value === 'function') return true;
  return typeof value === 'object' && value !== null && 'connect' in value && typeof value.connect === 'function';
}

function checkEntry(name: string, entry: McpServerEntry): McpServerEntry {
  if (typeof entry !== 'object' || entry === null) throw invalid(`MCP server "${name}" must be an object.`);
  if (isInProcessServer(entry)) return { server: entry };
  const copy = { ...entry };
  for (const key of ['timeoutMs', 'maxTimeoutMs', 'connectTimeoutMs'] as const) {
    const value = copy[key];
    if (value !== undefined && !(typeof value === 'number' && value > 0)) {
      throw invalid(`MCP server "${name}": "${key}" must be a number greater than 0, got ${JSON.stringify(value)}.`);
    }
  }
  const wrong = Object.entries(copy.capabilities ?? {}).find(([, capability]) => !isCapability(capability));
  if (wrong) {
    throw invalid(
      `MCP server "${name}": capability "${wrong[1]}" of "${wrong[0]}" must be one of ${capabilities.join(', ')}.`,
    );
  }
  if ('server' in copy) {
    if (!isInProcessServer(copy.server))
      throw invalid(`MCP server "${name}": "server" must be an McpServer or a function.`);
    return copy;
  }
  if ('command' in copy && 'url' in copy) throw invalid(`MCP server "${name}" has both "command" and "url"; keep one.`);
  if ('command' in copy) {
    if (typeof copy.command !== 'string' || !copy.command)
      throw invalid(`MCP server "${name}": "command" must be a text.`);
    if (copy.args !== undefined && !Array.isArray(copy.args))
      throw invalid(`MCP server "${name}": "args" must be a list.`);
    if (copy.cwd !== undefined && typeof copy.cwd !== 'string')
      throw invalid(`MCP server "${name}": "cwd" must be a text.`);
    checkTexts(name, 'args', copy.args);
    checkTexts(name, 'env', copy.env);
    return copy;
  }
  if (!('url' in copy) || typeof copy.url !== 'string') {
    const misspelt = Object.keys(copy).find((key) => key !== 'url' && didYouMean(key, ['command', 'url']));
    const hint = misspelt ? ` It has "${misspelt}".${didYouMean(misspelt, ['command', 'url'])}` : '';
    throw invalid(`MCP server "${name}" needs a "command" (a program to start) or a "url" (a remote server).${hint}`);
  }
  const type = copy.type ?? ('transport' in copy ? copy.transport : undefined); // FastMCP calls it transport
  if (type !== undefined && type !== 'http' && type !== 'streamable-http' && type !== 'sse') {
    throw invalid(`MCP server "${name}": type "${String(type)}" with a "url" must be http, streamable-http or sse.`);
  }
  checkTexts(name, 'headers', copy.headers);
  if (copy.fetch !== undefined && typeof copy.fetch !== 'function')
    throw invalid(`MCP server "${name}": "fetch" must be a function.`);
  return { ...copy, ...(type ? { type } : {}) };
}

function checkTexts(server: string, key: string, texts: object | undefined): void {
  if (texts !== undefined && (typeof texts !== 'object' || texts === null))
    throw invalid(`MCP server "${server}": "${key}" must be an object of texts.`);
  for (const [name, value] of Object.entries(texts ?? {})) {
    if (typeof value !== 'string')
      throw invalid(`MCP server "${server}": "${key}.${name}" must be a text, got ${JSON.stringify(value)}.`);
  }
}

/** `${NAME}`, `${env:NAME}` and `${NAME:-default}` in any text of the entry. */
export function expandVariables(server: string, text: string): string {
  return text.replace(/\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g, (_whole, name: string, fallback) => {
    const value = process.env[name] ?? fallback;
    if (value === undefined) {
      throw new PocketError(
        'CONFIG_INVALID',
        `MCP server "${server}" needs the environment variable ${name}, which is not set.`,
      );
    }
    return value;
  });
}

function invalid(message: string): PocketError {
  return new PocketError('CONFIG_INVALID', message);
}
