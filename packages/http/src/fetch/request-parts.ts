// What `fetch` was given, as node:http takes it.
import { Readable } from 'node:stream';

export interface RequestParts {
  method: string;
  headers: Record<string, string>;
  /** Text is ASCII. */
  body: string | Uint8Array | Readable | undefined;
  signal: AbortSignal | undefined;
}

/** Throws when the call is aborted already. */
export function readRequest(input: string | URL | Request, init: RequestInit): RequestParts {
  const given = input instanceof Request ? input : undefined;
  const signal = init.signal ?? given?.signal;
  signal?.throwIfAborted();
  const headers = headersOf(init.headers ?? given?.headers);
  const method = (init.method ?? given?.method ?? 'GET').toUpperCase();
  const body = readBody(init.body ?? given?.body ?? undefined, method, headers);
  return { method, headers, body, signal };
}

/** By names in lower case. What a plain object holds is checked by node:http, so the built-in Headers can be spared. */
function headersOf(asked: RequestInit['headers']): Record<string, string> {
  const headers: Record<string, string> = {};
  if (isPlainObject(asked)) {
    for (const [key, value] of Object.entries(asked)) {
      const name = key.toLowerCase();
      const text = trimmed(`${value}`);
      headers[name] = headers[name] === undefined ? text : `${headers[name]}, ${text}`;
    }
    return headers;
  }
  new Headers(asked).forEach((value, name) => {
    headers[name] = value;
  });
  return headers;
}

/** Without the white space that HTTP has around a value; hardly any value has some. */
function trimmed(text: string): string {
  return text.charCodeAt(0) > SPACE && text.charCodeAt(text.length - 1) > SPACE ? text : text.replace(AROUND, '');
}

const SPACE = 32;
const AROUND = /^[\t\n\r ]+|[\t\n\r ]+$/g;

function isPlainObject(asked: RequestInit['headers']): asked is Record<string, string> {
  return asked !== undefined && Object.getPrototypeOf(asked) === Object.prototype;
}

/** Methods whose requests mostly have no body; with any other a server wants to hear that there is none. */
const BODILESS = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE']);

function readBody(
  body: RequestInit['body'] | undefined,
  method: string,
  headers: Record<string, string>,
): RequestParts['body'] {
  // how long a body is we know ourselves: the rest of one that is longer would be read as another request
  if (headers['content-length'] !== undefined) delete headers['content-length'];
  if (headers['transfer-encoding'] !== undefined) delete headers['transfer-encoding'];
  if (headers.expect !== undefined) delete headers.expect; // it would be sent before its time, and be answered twice
  if (body === undefined || body === null) {
    if (!BODILESS.has(method)) headers['content-length'] = '0';
    return undefined;
  }
  const whole = wholeOf(body);
  if (whole !== undefined) {
    if (typeof body === 'string') headers['content-type'] ??= 'text/plain;charset=UTF-8';
    if (body instanceof URLSearchParams) headers['content-type'] ??= 'application/x-www-form-urlencoded;charset=UTF-8';
    const bytes = Buffer.byteLength(whole);
    headers['content-length'] = String(bytes);
    return bytes === whole.length ? whole : Buffer.from(whole);
  }
  if (body instanceof Blob) headers['content-length'] = String(body.size);
  else headers['transfer-encoding'] = 'chunked';
  if (body instanceof Readable) return body;
  // forms with files, blobs and streams: the built-in Response knows how they are written
  const written = new Response(body);
  const type = written.headers.get('content-type');
  if (type !== null) headers['content-type'] ??= type;
  return written.body ? Readable.fromWeb(written.body) : Readable.from([]);
}

/** What is in memory: its length can be told, and it can be sent again. */
function wholeOf(body: NonNullable<RequestInit['body']>): string | Uint8Array | undefined {
  if (typeof body === 'string' || body instanceof Uint8Array) return body;
  if (body instanceof URLSearchParams) return body.toString();
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
  return undefined;
}
