// One tools/call through the SDK's client, past what its `callTool` does for tools that few servers have.
import {
  type CallToolResult,
  type Client,
  ProtocolError,
  type RequestOptions,
  SERVER_INFO_META_KEY,
  type StandardSchemaV1,
  specTypeSchemas,
  type Tool,
} from '@modelcontextprotocol/client';

/** The server has not run the call: since the tool was listed, some of its arguments must travel as headers too. */
const HEADER_MISMATCH = -32_020;

interface ToolCall {
  client: Client;
  tool: Tool;
  params: Parameters<Client['callTool']>[0];
  options: RequestOptions;
}

export function sendCall({ client, tool, params, options }: ToolCall): Promise<CallToolResult> {
  if (!isPlain(tool)) return client.callTool(params, options);
  const answer = client.request({ method: 'tools/call', params }, toolResult, options);
  if (client.getProtocolEra() !== 'modern') return answer;
  return answer.catch((error: unknown) => {
    if (!(error instanceof ProtocolError) || error.code !== HEADER_MISMATCH) throw error;
    return client.callTool(params, options);
  });
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

/** Results of other requests, which must not pass for that of a tool that said nothing. */
const foreign = ['task', 'inputRequests', 'requestState'];

/** The SDK finds out at every call whether it has a schema by checking `undefined` against it, which costs the most. */
const toolResult: StandardSchemaV1<unknown, CallToolResult> = {
  '~standard': {
    version: 1,
    vendor: 'pocket-agent',
    validate(value) {
      if (isOnlyText(value)) return { value };
      const isOther = isObject(value) && value.content === undefined && foreign.some((key) => key in value);
      if (isOther) return { issues: [{ message: 'content is missing' }] };
      return specTypeSchemas.CallToolResult['~standard'].validate(value);
    },
  },
};

/** What most tools answer: nothing is left for a schema to find there. */
function isOnlyText(value: unknown): value is CallToolResult {
  if (!isObject(value) || !Array.isArray(value.content)) return false;
  for (const key in value) if (key !== 'content' && !(key === '_meta' && isOnlyServerInfo(value._meta))) return false;
  return value.content.every(isText);
}

/** With which a server of the 2026 era signs every result. */
function isOnlyServerInfo(meta: unknown): boolean {
  if (!isObject(meta)) return false;
  for (const key in meta) if (key !== SERVER_INFO_META_KEY) return false;
  const info = meta[SERVER_INFO_META_KEY];
  if (!isObject(info) || typeof info.name !== 'string' || typeof info.version !== 'string') return false;
  for (const key in info) if (key !== 'name' && key !== 'version') return false;
  return true;
}

function isText(block: unknown): boolean {
  if (!isObject(block) || block.type !== 'text' || typeof block.text !== 'string') return false;
  for (const key in block) if (key !== 'type' && key !== 'text') return false;
  return true;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
