// Answers of remote agents, bounded while they stream in: long strings are cut, events checked, values counted.
import { limitedResponse, withCutStrings } from '@pocket-agent/http/fetch';
import { EventCheck } from './event-check.ts';

/** Of a whole answer, after long strings in it were cut. Streams may be longer: their events are read one by one. */
const MOST_BYTES = 16_777_216;

interface Bounds {
  host: string;
  maxStringBytes: number;
}

export function boundedResponse(response: Response, { host, maxStringBytes }: Bounds): Response {
  const { headers } = response;
  if (headers.get('content-type')?.startsWith('text/event-stream'))
    return withCheckedEvents(limitedResponse(withCutStrings(response, { maxStringBytes })), host);
  const length = headers.has('content-encoding') ? Number.NaN : Number(headers.get('content-length') ?? Number.NaN);
  const isShort = length <= maxStringBytes;
  return limitedResponse(isShort ? response : withCutStrings(response, { maxStringBytes, maxBytes: MOST_BYTES }));
}

function withCheckedEvents(response: Response, host: string): Response {
  const { body, headers, status, statusText } = response;
  const check = new EventCheck(host);
  const encoder = new TextEncoder();
  const checked = new TransformStream<Uint8Array, Uint8Array>({
    transform: (chunk, controller) => controller.enqueue(encoder.encode(check.take(chunk))),
  });
  return new Response(body?.pipeThrough(checked) ?? null, { headers, status, statusText });
}
