// Entries of `mcpServers` in a gateway: what differs by caller.
import { configError } from '@pocket-agent/kit';
import type { CallerContext, McpServerEntry } from 'pocket-agent';
import { expandVariables } from 'pocket-agent/internal';
import type { CallerLogin, ServerLogin } from '../logins/caller-login.ts';

/** An entry as in any `mcpServers` JSON. */
export type GatewayServerEntry = McpServerEntry & {
  /** True: the server keeps no state of a caller, and all callers share one connection. Default false. */
  shared?: boolean;
  /** Each caller logs in to the server with OAuth, by `pocket-agent gateway login`. */
  login?: boolean | ServerLogin;
};

/** The name of the caller. */
const CALLER = /\$\{caller\}/g;
/** `${caller:NAME}`: the environment variable NAME__CALLER. */
const CALLER_VARIABLE = /\$\{caller:([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** Each caller has its own connection, unless the entry says that callers can share one. */
export function entryByCaller(
  server: string,
  { shared = false, login, ...entry }: GatewayServerEntry,
  loginOf: ((caller: string) => CallerLogin) | undefined,
): McpServerEntry {
  const own = withCallerValues(server, entry as McpServerEntry);
  if (shared && (loginOf || own !== entry)) {
    throw configError(`MCP server "${server}" is shared by all callers, but has a value that depends on the caller.`);
  }
  const auth = loginOf && { auth: ({ caller = '' }: CallerContext) => loginOf(caller).login };
  return { ...own, ...auth, perCaller: !shared };
}

function withCallerValues(server: string, entry: McpServerEntry): McpServerEntry {
  if ('command' in entry && depends(entry.env)) {
    const { env } = entry;
    return { ...entry, env: ({ caller }: CallerContext) => filledIn(server, env, caller) };
  }
  if ('url' in entry && depends(entry.headers)) {
    const { headers } = entry;
    return { ...entry, headers: ({ caller }: CallerContext) => filledIn(server, headers, caller) };
  }
  return entry;
}

function depends(values: unknown): values is Record<string, string> {
  if (typeof values !== 'object' || values === null) return false;
  return Object.values(values).some((value) =>
    [CALLER, CALLER_VARIABLE].some((variable) => String(value).search(variable) >= 0),
  );
}

function filledIn(server: string, values: Record<string, string>, caller = ''): Record<string, string> {
  // the name of the caller comes last: nothing in it is a variable
  const fill = (text: string) =>
    expandVariables(`MCP server "${server}"`, text.replace(CALLER, '\0'))
      .replace(CALLER_VARIABLE, (_whole, name: string) => variableOf(caller, { server, name }))
      .replaceAll('\0', caller);
  return Object.fromEntries(Object.entries(values).map(([key, text]) => [key, fill(String(text))]));
}

/** Names of callers with tokens have no other characters, so two callers never share a variable. */
function variableOf(caller: string, { server, name }: { server: string; name: string }): string {
  const variable = `${name}__${caller.toUpperCase().replaceAll('-', '_')}`;
  const value = /^[a-z0-9-]+$/.test(caller) ? process.env[variable] : undefined;
  if (value !== undefined) return value;
  throw configError(`MCP server "${server}" needs the environment variable ${variable} for the caller "${caller}".`);
}
