// Parts of UI messages.
import type { AgentEvent, ToolContentPart, ToolResult } from 'pocket-agent';

type Source = Extract<AgentEvent, { type: 'source' }>['data'];

export function sourceChunk({ sourceId, url, title, mediaType = 'text/plain', filename }: Source): object {
  if (url !== undefined) return { type: 'source-url', sourceId, url, ...(title ? { title } : {}) };
  return {
    type: 'source-document',
    sourceId,
    mediaType,
    title: title ?? 'Document',
    ...(filename ? { filename } : {}),
  };
}

/** A string, or a list of parts if there are files. */
export function outputOf({ toolResultContent }: Pick<ToolResult, 'toolResultContent'>): unknown {
  if (toolResultContent.every((part) => part.type === 'text'))
    return toolResultContent.map(({ text }) => text).join('\n');
  return toolResultContent.map(uiPart);
}

function uiPart(part: ToolContentPart): object {
  if (part.type === 'text') return part;
  return { type: 'file', mediaType: part.mediaType, url: `data:${part.mediaType};base64,${part.data.data}` };
}
