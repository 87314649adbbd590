// What a server may answer to tools/call: text needs no schema, which takes long and finds nothing there.
import {
  type CallToolResult,
  SdkError,
  SdkErrorCode,
  SERVER_INFO_META_KEY,
  specTypeSchemas,
} from '@modelcontextprotocol/client';
import { isRecord, schemaIssuesText } from '@pocket-agent/kit';

/** Results of other requests, which must not pass for that of a tool that said nothing. */
const foreign = ['task', 'inputRequests', 'requestState'];

/** Of one result. Each of them costs far more than its bytes. */
const MOST_BLOCKS = 10_000;

export function refuseManyBlocks({ content }: Record<string, unknown>): void {
  if (Array.isArray(content) && content.length > MOST_BLOCKS)
    throw invalid(`content has more than ${MOST_BLOCKS} blocks, the most that are read`);
}

export async function checkedToolResult(value: unknown): Promise<CallToolResult> {
  const isOther = isRecord(value) && value.content === undefined && foreign.some((key) => key in value);
  if (isOther) throw invalid('content is missing');
  const checked = await specTypeSchemas.CallToolResult['~standard'].validate(value);
  if (!checked.issues) return checked.value;
  throw invalid(schemaIssuesText(checked.issues));
}

/** What most tools answer, without what the 2026 era writes around it; undefined for anything else. */
export function textResultOf(result: Record<string, unknown>, isModern: boolean): CallToolResult | undefined {
  const { content, resultType, _meta } = result;
  if (isModern ? resultType !== 'complete' : resultType !== undefined) return undefined;
  for (const key in result) if (key !== 'content' && key !== 'resultType' && key !== '_meta') return undefined;
  if (!Array.isArray(content) || !content.every(isText)) return undefined;
  if (_meta === undefined) return { content };
  return isOnlyServerInfo(_meta) ? { content, _meta } : undefined;
}

/** With which a server of the 2026 era signs every result. */
function isOnlyServerInfo(meta: unknown): meta is Record<string, unknown> {
  if (!isRecord(meta)) return false;
  for (const key in meta) if (key !== SERVER_INFO_META_KEY) return false;
  const info = meta[SERVER_INFO_META_KEY];
  if (!isRecord(info) || typeof info.name !== 'string' || typeof info.version !== 'string') return false;
  for (const key in info) if (key !== 'name' && key !== 'version') return false;
  return true;
}

function isText(block: unknown): boolean {
  if (!isRecord(block) || block.type !== 'text' || typeof block.text !== 'string') return false;
  for (const key in block) if (key !== 'type' && key !== 'text') return false;
  return true;
}

function invalid(problem: string): SdkError {
  return new SdkError(SdkErrorCode.InvalidResult, `Invalid result for tools/call: ${problem}`);
}
