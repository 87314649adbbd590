// A parsed REST request, and the type of a route.
import type { IncomingMessage } from 'node:http';
import { badJson } from '../state/api-error.ts';
import type { UploadedFile } from '../state/records.ts';

export interface Call {
  query: URLSearchParams;
  files: UploadedFile[];
  param(name: string): string;
  /** The parsed body; the route checks Discord's rules. */
  json<Body>(): Body;
}

/** A route without a result answers 204. */
export type Handler = (call: Call) => object | undefined;

/** Handlers by route, such as `'POST /channels/:channel/messages'`. */
export type Routes = Record<string, Handler>;

interface ReadBody {
  text: string;
  files: UploadedFile[];
}

export async function readBody(request: IncomingMessage): Promise<ReadBody> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  const type = request.headers['content-type'] ?? '';
  if (!type.startsWith('multipart/form-data')) return { text: bytes.toString(), files: [] };
  const form = await new Response(bytes, { headers: { 'content-type': type } }).formData();
  const files: { key: string; file: UploadedFile }[] = [];
  let text = '';
  for (const [key, value] of form) {
    if (typeof value === 'string') {
      if (key === 'payload_json') text = value;
      continue;
    }
    const file = { name: value.name, contentType: contentTypeOf(value), bytes: Buffer.from(await value.arrayBuffer()) };
    files.push({ key, file });
  }
  files.sort((one, other) => one.key.localeCompare(other.key, 'en', { numeric: true }));
  return { text, files: files.map(({ file }) => file) };
}

export function parseJson<Body>(text: string): Body {
  try {
    return JSON.parse(text || '{}');
  } catch {
    throw badJson();
  }
}

const TYPES: Record<string, string> = {
  txt: 'text/plain; charset=utf-8',
  md: 'text/markdown; charset=utf-8',
  json: 'application/json; charset=utf-8',
  png: 'image/png',
  jpg: 'image/jpeg',
  pdf: 'application/pdf',
};

/** Discord derives the content type from the file name if the sender gives none. */
function contentTypeOf({ name, type }: { name: string; type: string }): string {
  if (type && type !== 'application/octet-stream') return type;
  return TYPES[name.slice(name.lastIndexOf('.') + 1).toLowerCase()] ?? 'application/octet-stream';
}
