// The options of `PocketAgentClient`, and their check.
import {
  hasMethods,
  isRecord,
  isString,
  type Logger,
  nullable,
  nullableFunction,
  OptionSet,
  oneOf,
  positiveNumber,
} from '@pocket-agent/kit';
import type { ServerStatus } from '../run/events.ts';
import type { RenamedTool } from '../tools/name-registry.ts';
import type { McpConfig } from './mcp-config.ts';
import type { ServerHandlers, ServerLog } from './server-requests.ts';

/** Which MCP servers a client connects to, and what happens with their questions, logs and changes. */
export interface PocketAgentClientOptions extends ServerHandlers {
  mcpConfig?: McpConfig;
  /** Query parameters for the URL of every HTTP server. */
  mcpServerQueryParams?: Record<string, string>;
  /** auto: bare names with one server, `server_tool` with several. */
  toolPrefix?: 'auto' | 'always' | 'never';
  /** The timeout of servers that do not set their own. */
  toolTimeoutMs?: number;
  maxToolTimeoutMs?: number;
  logger?: Logger;
  /** `caller`: whose connection it is, if each caller has its own. `needsLogin`: it failed because a login is missing or was refused. */
  onServerStatus?: (
    server: string,
    status: ServerStatus,
    reason?: string,
    from?: { caller: string | undefined; needsLogin: boolean },
  ) => void;
  onServerLog?: (log: ServerLog) => void;
  onToolRenamed?: (change: RenamedTool) => void;
  clientInfo?: { name: string; version: string };
}

/** Options that an agent passes on to its client. */
export const serverRules = {
  mcpConfig: true,
  mcpServerQueryParams: true,
  toolPrefix: oneOf('auto', 'always', 'never'),
  toolTimeoutMs: positiveNumber,
  maxToolTimeoutMs: positiveNumber,
  clientInfo: nullable(
    '{ name, version }',
    (value) => isRecord(value) && isString(value.name) && isString(value.version),
  ),
  logger: nullable('an object with debug, info, warn and error', (value) =>
    hasMethods(value, 'debug', 'info', 'warn', 'error'),
  ),
  elicitationHandler: nullableFunction,
  logHandler: nullableFunction,
  progressHandler: nullableFunction,
  messageHandler: nullableFunction,
  listChangedHandler: nullableFunction,
  roots: nullable("a list such as [{ uri: 'file:///work' }], or a function that returns one", (value) =>
    Array.isArray(value) ? value.every((root) => isString(root?.uri)) : typeof value === 'function',
  ),
} as const;

const otherNames: Readonly<Record<string, string>> = {
  mcpServers: ' It belongs inside mcpConfig: mcpConfig: { mcpServers: { … } }.',
  servers: ' It belongs inside mcpConfig: mcpConfig: { servers: { … } }.',
  timeoutMs: ' Did you mean "toolTimeoutMs"?',
};

export const clientOptions = new OptionSet<PocketAgentClientOptions>(
  'A PocketAgentClient',
  {
    ...serverRules,
    samplingHandler: nullableFunction,
    onServerStatus: nullableFunction,
    onServerLog: nullableFunction,
    onToolRenamed: nullableFunction,
  },
  (key) => otherNames[key],
);
