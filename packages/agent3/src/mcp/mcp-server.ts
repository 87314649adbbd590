// Agent3 as an MCP server, created per connection or per request.
import { type CallToolResult, McpServer, type ServerContext } from '@modelcontextprotocol/server';
import { errorText, inServedCallSpan, type Logger, stderrLogger, VERSION } from '@pocket-agent/kit';
import type { Agent3, Caller } from '../base/agent3.ts';
import { Agent3Error } from '../base/agent3-error.ts';
import type { CallProgress } from '../base/calls.ts';
import { localOwner } from '../base/owner-tokens.ts';
import { CallMemory } from './call-memory.ts';
import { type ConfirmCalls, requestConsent, type SpendingLimit } from './consent.ts';
import { type Agent3Tool, tools } from './tools.ts';

/** How Agent3 is offered over MCP, and which calls need the consent of a person. */
export interface McpFrontOptions {
  agent3: Agent3;
  /** The caller of a request, from its authentication. Default: the local owner. */
  callerOf?: (context: ServerContext) => Caller;
  /** Default paid. */
  confirm?: ConfirmCalls;
  /** What a call may cost without a question. Default: nothing. */
  spendingLimit?: SpendingLimit;
  logger?: Logger;
}

/** Creates the MCP servers for stdio and HTTP. */
export function mcpServerFactory(options: McpFrontOptions): () => McpServer {
  const memory = new CallMemory();
  return () => {
    const server = new McpServer(
      { name: 'agent3', version: VERSION },
      { instructions: 'Find, call and rate other agents. Start with agent3_search; agent3_guide explains the rest.' },
    );
    for (const tool of tools) registerTool(server, tool, { ...options, memory });
    return server;
  };
}

function registerTool(server: McpServer, tool: Agent3Tool, options: McpFrontOptions & { memory: CallMemory }): void {
  const { name, title, description, annotations, capability, schema } = tool;
  const { agent3, memory, confirm = 'paid', callerOf = () => localOwner, logger = stderrLogger() } = options;
  const { spendingLimit = () => undefined } = options;
  server.registerTool(
    name,
    { title, description, annotations, _meta: { capability }, inputSchema: schema },
    (args: Record<string, unknown>, context: ServerContext) => {
      return inServedCallSpan({ tool: name, context }, async () => {
        try {
          const caller = callerOf(context);
          const request = { agent3, caller, confirm, spendingLimit, memory, server, context };
          const consent = await requestConsent(tool.sends(args), request);
          if ('refused' in consent) return failed(`Not called: ${consent.refused}`);
          if ('question' in consent) return consent.question;
          const { agreed } = consent;
          const callOptions = { signal: context.mcpReq.signal, ...progress(context) };
          return toResult(await tool.run(args, { agent3, caller, memory, agreed, options: callOptions, context }));
        } catch (error) {
          if (error instanceof Agent3Error) return failed(error.message);
          // unexpected errors may hold internal details; they go to the log only
          logger.error(`${name} failed`, { reason: errorText(error) });
          return failed('Agent3 failed; its log says why.');
        }
      });
    },
  );
}

function toResult(value: object | string): CallToolResult {
  if (typeof value === 'string') return { content: [{ type: 'text', text: value }] };
  const isError = 'success' in value && value.success === false;
  return {
    content: [{ type: 'text', text: JSON.stringify(value) }],
    structuredContent: { ...value },
    ...(isError ? { isError } : {}),
  };
}

function failed(text: string): CallToolResult {
  return { isError: true, content: [{ type: 'text', text }] };
}

function progress({ mcpReq: { _meta: meta, notify } }: ServerContext): { onProgress?: (update: CallProgress) => void } {
  const progressToken = meta?.progressToken;
  if (progressToken === undefined) return {};
  let count = 0;
  return {
    onProgress: ({ message }) => {
      const params = { progressToken, progress: ++count, message };
      // a client that has disconnected gets no progress; the transport cancels its call
      notify({ method: 'notifications/progress', params }).catch(() => {});
    },
  };
}
