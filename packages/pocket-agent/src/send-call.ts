// One tools/call through the SDK's client, past what its `callTool` does for tools that few servers have.
import { type CallToolResult, ProtocolError, type Tool } from '@modelcontextprotocol/client';
import type { CallingClient, CallOptions } from './calling-client.ts';

/** The server has not run the call: since the tool was listed, some of its arguments must travel as headers too. */
const HEADER_MISMATCH = -32_020;

interface ToolCall {
  client: CallingClient;
  tool: Tool;
  params: Parameters<CallingClient['call']>[0];
  options: CallOptions;
}

export function sendCall(call: ToolCall): Promise<CallToolResult> {
  const { client, tool, params, options } = call;
  if (!isPlain(tool)) return sendBySdk(call);
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

const plain = new WeakMap<Tool, boolean>();

/** No output to check and no arguments to copy into headers: all that is left is to send the call. */
function isPlain(tool: Tool): boolean {
  const known = plain.get(tool);
  if (known !== undefined) return known;
  const found = tool.outputSchema === undefined && !takesMore(JSON.stringify(tool.inputSchema));
  plain.set(tool, found);
  return found;
}

/** Whether a schema, or a list of tools as text, has something for the SDK's `callTool` to do. */
export function takesMore(json: string): boolean {
  return json.includes('"outputSchema"') || json.includes('"x-mcp-header"');
}
