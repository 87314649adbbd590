// A Google search of Gemini, which reports it in the metadata of its answer, as the tool call that it was.
import type { LanguageModelV4CallOptions, LanguageModelV4Content } from '@ai-sdk/provider';
import { isRecord } from '@pocket-agent/kit';
import { ACCOUNT_TAG } from './account-parts.ts';
import type { ModelResponse } from './model-call.ts';

const TOOL_ID = 'google.google_search';
/** No provider takes the call back. */
const providerMetadata = { [ACCOUNT_TAG]: { origin: '', provider: 'none' } };

/** The answer with a call and its result before it, if Gemini searched for it. */
export function withGroundedSearch(
  response: ModelResponse,
  { tools = [] }: Pick<LanguageModelV4CallOptions, 'tools'>,
): ModelResponse {
  const { google, vertex, googleVertex } = response.providerMetadata ?? {};
  const grounding = (google ?? vertex ?? googleVertex)?.groundingMetadata;
  if (!isRecord(grounding)) return response;
  const queries = textsIn(grounding.webSearchQueries);
  const isReported = response.content.some((part) => part.type === 'tool-call' && /SEARCH/.test(part.toolName));
  if (queries.length === 0 || isReported) return response;
  const toolName = tools.find((tool) => tool.type === 'provider' && tool.id === TOOL_ID)?.name ?? 'google_search';
  const call = { toolCallId: `search-${crypto.randomUUID()}`, toolName, providerMetadata };
  const search: LanguageModelV4Content[] = [
    { type: 'tool-call', ...call, input: JSON.stringify({ queries }), providerExecuted: true },
    { type: 'tool-result', ...call, result: { sources: sourcesIn(grounding.groundingChunks) } },
  ];
  return { ...response, content: [...search, ...response.content] };
}

function textsIn(list: unknown): string[] {
  return Array.isArray(list) ? list.filter((item) => typeof item === 'string') : [];
}

function sourcesIn(chunks: unknown): { url: string; title: string }[] {
  if (!Array.isArray(chunks)) return [];
  return chunks.flatMap((chunk) => {
    const web = isRecord(chunk) && isRecord(chunk.web) ? chunk.web : {};
    return typeof web.uri === 'string' ? [{ url: web.uri, title: String(web.title ?? '') }] : [];
  });
}
