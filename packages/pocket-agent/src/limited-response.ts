// One limit for what an MCP server sends over HTTP: a whole answer, or one event of a stream, after decompression.
import type { FetchLike } from '@modelcontextprotocol/client';
import { HttpResponse } from '@pocket-agent/http/fetch';
import { MOST_MESSAGE_BYTES, MOST_MESSAGE_MB } from './message-lines.ts';

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;

/** Told once, before whoever reads the answer gets it. */
type OnTooLarge = (error: Error) => void;

export function limitedFetch(fetch: FetchLike, onTooLarge: OnTooLarge = () => {}): FetchLike {
  return async (url, init) => limitedResponse(await fetch(url, init), onTooLarge);
}

export function limitedResponse(response: Response, onTooLarge: OnTooLarge): Response {
  const isStream = isEventStream(response);
  const tooLarge = () => {
    const error = new Error(`it sent a message of more than ${MOST_MESSAGE_MB} MB, the most that is read`);
    onTooLarge(error);
    return error;
  };
  if (response instanceof HttpResponse && !isStream) {
    response.limit(MOST_MESSAGE_BYTES, tooLarge);
    return response;
  }
  if (!response.body) return response;
  const count = isStream ? eventCounter() : bodyCounter();
  const limit = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      if (count(chunk) > MOST_MESSAGE_BYTES) controller.error(tooLarge());
      else controller.enqueue(chunk);
    },
  });
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(limit), { status, statusText, headers });
}

export function isEventStream(response: Response): boolean {
  const type = response instanceof HttpResponse ? response.contentType : response.headers.get('content-type');
  return /^text\/event-stream\s*(;|$)/i.test(type ?? '');
}

function bodyCounter(): (chunk: Uint8Array) => number {
  let bytes = 0;
  return ({ byteLength }) => {
    bytes += byteLength;
    return bytes;
  };
}

/** Bytes since the last blank line, which ends an event. */
function eventCounter(): (chunk: Uint8Array) => number {
  let bytes = 0;
  let isLineEmpty = true;
  return (chunk) => {
    for (const byte of chunk) {
      bytes++;
      if (byte === LINE_FEED) {
        if (isLineEmpty) bytes = 0;
        isLineEmpty = true;
      } else if (byte !== CARRIAGE_RETURN) isLineEmpty = false;
    }
    return bytes;
  };
}
