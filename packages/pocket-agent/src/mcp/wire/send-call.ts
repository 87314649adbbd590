// One tools/call, and its result checked against the output schema of the tool.
import { type CallToolResult, ProtocolError, type Tool } from '@modelcontextprotocol/client';
import { PocketError } from '@pocket-agent/kit';
import { checkForeign, type Verdict } from '../../base/foreign-schema.ts';
import type { CallingClient, CallOptions } from './calling-client.ts';

/** The server has not run the call: since the tool was listed, some of its arguments must travel as headers too. */
const HEADER_MISMATCH = -32_020;

interface ToolCall {
  client: CallingClient;
  /** Of the server, for errors. */
  server: string;
  tool: Tool;
  params: Parameters<CallingClient['call']>[0];
  options: CallOptions;
}

export function sendCall(call: ToolCall): Promise<CallToolResult> {
  return call.tool.outputSchema === undefined ? send(call) : sendAndCheck(call);
}

function send(call: ToolCall): Promise<CallToolResult> {
  const { client, tool, params, options } = call;
  if (hasHeaderArguments(tool)) return sendBySdk(call);
  const answer = client.call(params, options);
  if (client.getProtocolEra() !== 'modern') return answer;
  return answer.catch((error: unknown) => {
    if (!(error instanceof ProtocolError) || error.code !== HEADER_MISMATCH) throw error;
    return sendBySdk(call);
  });
}

function sendBySdk({ client, params, options: { cancellation, ...others } }: ToolCall): Promise<CallToolResult> {
  return client.callTool(params, { ...others, signal: cancellation.signal });
}

/** Tools whose output schema compiles. */
const usable = new WeakSet<Tool>();

async function sendAndCheck(call: ToolCall): Promise<CallToolResult> {
  const { tool, server } = call;
  const named = `Tool "${tool.name}" of MCP server "${server}"`;
  if (!usable.has(tool)) {
    const fault = faultIn(await check(call));
    if (fault !== undefined)
      throw new PocketError(
        'MCP_REQUEST_FAILED',
        `${named} was not called: its outputSchema cannot be used: ${fault}.`,
      );
    usable.add(tool);
  }
  const result = await send(call);
  const fault = result.isError ? undefined : await faultOf(result, call);
  if (fault === undefined) return result;
  throw new PocketError('TOOL_FAILED', `${named} was called, but ${fault}.`);
}

async function faultOf({ structuredContent }: CallToolResult, call: ToolCall): Promise<string | undefined> {
  if (structuredContent === undefined) return 'returned no structured content, which its outputSchema promises';
  const verdict = await check(call, structuredContent);
  if ('problem' in verdict) return `its result does not match its output schema: ${verdict.problem}`;
  const fault = faultIn(verdict);
  return fault && `its result could not be checked against its output schema: ${fault}`;
}

function faultIn(verdict: Verdict): string | undefined {
  if ('invalid' in verdict) return verdict.invalid;
  return 'unchecked' in verdict ? verdict.unchecked : undefined;
}

function check({ client, tool, options }: ToolCall, value?: unknown): Promise<Verdict> {
  return checkForeign({ schema: tool.outputSchema, value, origin: client, signal: options.cancellation.signal });
}

const headerTools = new WeakMap<Tool, boolean>();

/** Whether arguments must travel as headers too, which the SDK does. */
function hasHeaderArguments(tool: Tool): boolean {
  const known = headerTools.get(tool);
  if (known !== undefined) return known;
  const found = declaresHeaders(JSON.stringify(tool.inputSchema));
  headerTools.set(tool, found);
  return found;
}

/** For a schema, or a list of tools, as JSON text. */
export function declaresHeaders(json: string): boolean {
  return json.includes('"x-mcp-header"');
}
