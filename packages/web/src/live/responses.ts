// Reads requests and streams responses.
import { readBody } from '@pocket-agent/http/byte-chunks';
import { isRecord } from '@pocket-agent/kit';

const STREAM_HEADERS = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', 'x-accel-buffering': 'no' };

export function errorResponse(status: number, error: string): Response {
  return Response.json({ error }, { status, headers: { 'cache-control': 'no-store' } });
}

/** Reads a JSON object, or returns an error response. The content type must be JSON, which forms of other sites cannot send. */
export async function readJson(request: Request, maxBytes: number): Promise<Record<string, unknown> | Response> {
  const type = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json') return errorResponse(415, 'Send JSON with content-type: application/json.');
  const bytes = await readBody(request, maxBytes);
  if (bytes === undefined) return errorResponse(413, `The request is too large. Send at most ${maxBytes} bytes.`);
  try {
    const body: unknown = JSON.parse(bytes.toString());
    return isRecord(body) ? body : errorResponse(400, 'Send a JSON object.');
  } catch {
    return errorResponse(400, 'The request is not valid JSON.');
  }
}

/** Ends the body when the client disconnects, also in frameworks that do not cancel it. */
export function streamResponse(request: Request, body: ReadableStream, headers: Record<string, string> = {}): Response {
  const piped = new TransformStream();
  body.pipeTo(piped.writable, { signal: request.signal }).catch(() => {}); // the client has disconnected
  return new Response(piped.readable, { headers: { ...STREAM_HEADERS, ...headers } });
}

const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

export function traceparentOf(request: Request): string | undefined {
  return TRACEPARENT.exec(request.headers.get('traceparent') ?? '')?.[0];
}

export function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
