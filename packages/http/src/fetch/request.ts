// The arguments of `fetch` as node:http takes them.
import { Readable } from 'node:stream';

export interface RequestParts {
  method: string;
  /** Headers by lower-case name. */
  headers: Record<string, string>;
  /** A string is ASCII: node:http sends it in one packet with the headers. */
  body: string | Uint8Array | Readable | undefined;
  signal: AbortSignal | undefined;
}

/** Throws when the signal is aborted already. */
export function readRequest(input: string | URL | Request, init: RequestInit): RequestParts {
  const request = input instanceof Request ? input : undefined;
  const signal = init.signal ?? request?.signal;
  signal?.throwIfAborted();
  const headers: Record<string, string> = {};
  const sent = init.headers ?? request?.headers;
  (sent instanceof Headers ? sent : new Headers(sent)).forEach((value, name) => {
    headers[name] = value;
  });
  const method = (init.method ?? request?.method ?? 'GET').toUpperCase();
  const body = readBody(init.body ?? request?.body ?? undefined, headers);
  return { method, headers, body, signal };
}

function readBody(body: RequestInit['body'] | undefined, headers: Record<string, string>): RequestParts['body'] {
  // set below: bytes beyond an announced length would be read as another request
  delete headers['content-length'];
  delete headers['transfer-encoding'];
  delete headers.expect; // the body would be sent before the server answers to it
  if (body === undefined || body === null) return undefined;
  const bytes = bytesOf(body);
  if (bytes !== undefined) {
    if (typeof body === 'string') headers['content-type'] ??= 'text/plain;charset=UTF-8';
    if (body instanceof URLSearchParams) headers['content-type'] ??= 'application/x-www-form-urlencoded;charset=UTF-8';
    headers['content-length'] = String(bytes.byteLength);
    return typeof body === 'string' && body.length === bytes.byteLength ? body : bytes;
  }
  if (body instanceof Blob) headers['content-length'] = String(body.size);
  else headers['transfer-encoding'] = 'chunked';
  if (body instanceof Readable) return body;
  // Response knows how forms, blobs and streams are encoded
  const encoded = new Response(body);
  const type = encoded.headers.get('content-type');
  if (type !== null) headers['content-type'] ??= type;
  return encoded.body ? Readable.fromWeb(encoded.body) : Readable.from([]);
}

/** A body that is in memory: its length is known, and it can be sent again. */
function bytesOf(body: NonNullable<RequestInit['body']>): Uint8Array | undefined {
  if (typeof body === 'string' || body instanceof URLSearchParams) return Buffer.from(String(body));
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
  return undefined;
}
