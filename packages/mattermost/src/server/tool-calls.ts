// Registers the tools of a catalog on an MCP server and runs their calls with the account of the client.
import {
  type AuthInfo,
  type CallToolResult,
  CLIENT_INFO_META_KEY,
  type McpRequestContext,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { errorText, inServedCallSpan } from '@pocket-agent/kit';
import { resolveIdentity } from '../auth/auth.ts';
import { allows, type Profile } from '../base/access.ts';
import { MattermostError } from '../base/errors.ts';
import { objectOf } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import type { MattermostConfig } from '../config/config.ts';
import type { RunAs } from '../listener/channel-listener.ts';
import type { Tool } from '../tools/base/tool.ts';
import { logToolCall } from './call-log.ts';
import { type ToolCatalog, toolsForRequest } from './tool-catalog.ts';

interface ToolCallOptions {
  config: MattermostConfig;
  log: Log;
  runAs: RunAs;
}

interface Registration extends ToolCallOptions {
  catalog: ToolCatalog;
  profile: Profile;
  requestContext: McpRequestContext;
}

export function registerTools(server: McpServer, registration: Registration): void {
  const { catalog, profile, requestContext, log } = registration;
  for (const { tool, isAllowed, described } of toolsForRequest(catalog, requestContext)) {
    if (!isAllowed) {
      server.registerTool(tool.name, {}, () => errorResult(outsideProfile(tool, profile)));
      continue;
    }
    server.registerTool(tool.name, described, async (args: unknown, context): Promise<CallToolResult> => {
      // in a session of the 2025 protocol each request has its own authentication
      const authInfo = context.http?.authInfo ?? requestContext.authInfo;
      const run = () => runTool(tool, { args, authInfo, context }, registration);
      return inServedCallSpan({ tool: tool.name, context }, async () => {
        try {
          return await logToolCall(log, { tool: tool.name, args, context }, run);
        } catch (error) {
          return errorResult(error);
        }
      });
    });
  }
  server.server.setRequestHandler('tools/list', (_request, context) => ({
    tools: defersTools(server, context) ? catalog.complete : catalog.listed,
  }));
}

/** Pocket Agent keeps tools with `exposure: 'deferred'` out of the prompt; its model finds them with `find_tools`. */
function defersTools({ server }: McpServer, { mcpReq: { envelope } }: ServerContext): boolean {
  const sent = objectOf(envelope)[CLIENT_INFO_META_KEY] ?? server.getClientVersion();
  return objectOf(sent).name === 'pocket-agent';
}

interface ToolCall {
  args: unknown;
  authInfo: AuthInfo | undefined;
  context: ServerContext;
}

async function runTool(tool: Tool, { args, authInfo, context }: ToolCall, { config, runAs }: ToolCallOptions) {
  const { profile } = resolveIdentity(config, authInfo);
  if (!allows(profile, tool.capability)) throw outsideProfile(tool, profile);
  return runAs(authInfo, (account) => tool.run(args, account.context(context.mcpReq.signal, progressOf(context))));
}

function outsideProfile({ name, capability }: Tool, profile: Profile): MattermostError {
  const text = `Refused: ${name} needs the capability "${capability}", which the profile ${profile} of this server does not include.`;
  return new MattermostError('REFUSED', text);
}

function errorResult(error: unknown): CallToolResult {
  return { content: [{ type: 'text', text: errorText(error) }], isError: true };
}

const PROGRESS_STEP_BYTES = 1_000_000;

/** Reports every megabyte and the end, to clients that requested progress. */
function progressOf({ mcpReq }: ServerContext): (done: number, total: number) => void {
  const progressToken = mcpReq._meta?.progressToken;
  let reported = 0;
  return (done, total) => {
    if (progressToken === undefined || (done < total && done - reported < PROGRESS_STEP_BYTES)) return;
    reported = done;
    const params = { progressToken, progress: done, total };
    mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {}); // the client has disconnected
  };
}
