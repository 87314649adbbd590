// Answers of remote agents, bounded while they stream in: long strings are cut, events checked.
import { FetchError } from '@pocket-agent/http/fetch';
import { EventCheck } from './event-check.ts';
import { JsonCutter } from './json-cutter.ts';

/** Of a whole answer, after long strings in it were cut. Streams may be longer: their events are read one by one. */
const MOST_BYTES = 16_777_216;

interface Bounds {
  host: string;
  maxStringBytes: number;
}

export function boundedResponse(response: Response, { host, maxStringBytes }: Bounds): Response {
  const { body, headers, status, statusText } = response;
  const isStream = headers.get('content-type')?.startsWith('text/event-stream') === true;
  const length = headers.has('content-encoding') ? Number.NaN : Number(headers.get('content-length') ?? Number.NaN);
  if (!body || (!isStream && length <= maxStringBytes)) return response;
  const cutter = new JsonCutter(maxStringBytes);
  const bounded = isStream ? checkedEvents(host) : atMost(MOST_BYTES);
  const cut = new TransformStream<Uint8Array, Uint8Array>({
    transform: (chunk, controller) => controller.enqueue(bounded(cutter.cut(chunk))),
  });
  return new Response(body.pipeThrough(cut), { headers, status, statusText });
}

function checkedEvents(host: string): (chunk: Uint8Array) => Uint8Array {
  const check = new EventCheck(host);
  const encoder = new TextEncoder();
  return (chunk) => encoder.encode(check.take(chunk));
}

function atMost(maxBytes: number): (chunk: Uint8Array) => Uint8Array {
  let size = 0;
  return (chunk) => {
    size += chunk.byteLength;
    if (size > maxBytes) throw new FetchError('TOO_LARGE', `The answer is larger than ${maxBytes} bytes`);
    return chunk;
  };
}
