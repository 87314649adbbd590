// Requests and responses of the handlers.
import { readBody } from '@pocket-agent/http/byte-chunks';
import { isRecord } from '@pocket-agent/kit';
import { problem } from './caller.ts';

const STREAM_HEADERS = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', 'x-accel-buffering': 'no' };

/** The JSON object of a request, or the response that refuses it. JSON only: a form of another site could not send it. */
export async function readJson(request: Request, maxBytes: number): Promise<Record<string, unknown> | Response> {
  const type = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json') return problem(415, 'Send JSON with content-type: application/json.');
  const bytes = await readBody(request, maxBytes);
  if (bytes === undefined) return problem(413, `A request has at most ${maxBytes} bytes.`);
  try {
    const body: unknown = JSON.parse(bytes.toString());
    return isRecord(body) ? body : problem(400, 'Send a JSON object.');
  } catch {
    return problem(400, 'The request is not valid JSON.');
  }
}

/** Closes the stream when the client disconnects, also in frameworks that do not cancel it. */
export function streamed(request: Request, body: ReadableStream, headers: Record<string, string> = {}): Response {
  const passed = new TransformStream();
  body.pipeTo(passed.writable, { signal: request.signal }).catch(() => {}); // the reader has left
  return new Response(passed.readable, { headers: { ...STREAM_HEADERS, ...headers } });
}

const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

export function traceparentOf(request: Request): string | undefined {
  return TRACEPARENT.exec(request.headers.get('traceparent') ?? '')?.[0];
}

export function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
