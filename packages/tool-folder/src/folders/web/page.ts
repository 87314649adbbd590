// Reads a web page for a model: HTML as text, other text unchanged, images as images.
import type { HttpFetch } from '@pocket-agent/http/fetch';
import { htmlToText } from './html-text.ts';

interface PageOptions {
  url: string;
  start: number;
  maxLength: number;
  fetch: HttpFetch;
  signal: AbortSignal;
}

const accept = 'text/html, text/plain;q=0.9, application/json;q=0.9, */*;q=0.5';
const textual = /^(text\/|application\/(json|xml|javascript|[\w.+-]*\+(json|xml)))/;
const viewable = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);

export async function readPage({ url, start, maxLength, fetch, signal }: PageOptions) {
  const headers = { accept, 'user-agent': 'pocket-agent-web/1' };
  const response = await fetch(url, { signal, headers }).catch((error: unknown) => {
    throw withAdvice(error);
  });
  const type = response.headers.get('content-type') ?? 'text/plain';
  const mediaType = type.split(';')[0]?.trim().toLowerCase() ?? '';
  if (!response.ok || !(textual.test(mediaType) || viewable.has(mediaType))) {
    await response.body?.cancel();
    throw new Error(
      response.ok
        ? `${host(url)} sent ${mediaType}, which is neither text nor an image`
        : `${host(url)} answered ${response.status}`,
    );
  }
  const bytes = Buffer.from(await response.arrayBuffer());
  if (viewable.has(mediaType))
    return { content: [{ type: 'image' as const, mimeType: mediaType, data: bytes.toString('base64') }] };
  const source = decode(bytes, type);
  const isHtml = mediaType === 'text/html' || mediaType === 'application/xhtml+xml';
  const { title, text } = isHtml ? await htmlToText(source, response.url) : { title: '', text: source };
  return part({ title, text, url: response.url, start, maxLength });
}

/** Adds the way out to the error about a private address. */
function withAdvice(error: unknown): unknown {
  if (!(error instanceof Error && 'code' in error && error.code === 'PRIVATE_ADDRESS')) return error;
  return new Error(`${error.message} (POCKET_AGENT_ALLOW_PRIVATE_URLS=1 allows it)`, { cause: error });
}

function part({
  title,
  text,
  url,
  start,
  maxLength,
}: {
  title: string;
  text: string;
  url: string;
  start: number;
  maxLength: number;
}): string {
  if (start > 0 && start >= text.length)
    throw new Error(`The page has only ${text.length} characters; use a smaller start.`);
  const end = Math.min(text.length, start + maxLength);
  const heading = `[${url}${title ? `, “${title}”` : ''}: untrusted content]`;
  const rest = end < text.length ? `\n[${text.length - end} more characters: continue with start=${end}]` : '';
  return `${heading}\n${text.slice(start, end) || 'The page has no text.'}${rest}`;
}

/** Uses the charset of the server, else of the page, else UTF-8. */
function decode(bytes: Buffer, contentType: string): string {
  const declared = /charset=["']?([\w-]+)/i.exec(contentType)?.[1];
  const inside = /<meta[^>]{0,200}charset=["']?([\w-]+)/i.exec(bytes.toString('latin1', 0, 2_048))?.[1];
  try {
    return new TextDecoder(declared ?? inside ?? 'utf-8').decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes); // unknown charset
  }
}

function host(url: string): string {
  return new URL(url).host;
}
