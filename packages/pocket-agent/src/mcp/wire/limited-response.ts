// One limit for what an MCP server sends over HTTP: a whole answer, or one event of a stream, after decompression.
import type { FetchLike } from '@modelcontextprotocol/client';
import { HttpResponse } from '@pocket-agent/http/fetch';
import { JsonWeight, MOST_JSON_PARTS } from '@pocket-agent/http/json-weight';
import { MOST_MESSAGE_BYTES, MOST_MESSAGE_MB } from './message-lines.ts';
import { paced } from './server-flood.ts';

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;

/** Called once, before the reader of the response sees the error. */
type OnTooLarge = (error: Error) => void;

interface Limits {
  mostBytes: number;
  mostParts: number;
  tooLarge(fault: string): Error;
}

const TOO_LONG = `of more than ${MOST_MESSAGE_MB} MB, the most that is read`;

export function limitedFetch(fetch: FetchLike, onTooLarge: OnTooLarge = () => {}): FetchLike {
  return async (url, init) => limitedResponse(await fetch(url, init), onTooLarge);
}

export function limitedResponse(
  response: Response,
  onTooLarge: OnTooLarge,
  mostBytes: number = MOST_MESSAGE_BYTES,
): Response {
  const isStream = isEventStream(response);
  const tooLarge = (fault: string) => {
    const error = new Error(`it sent a message ${fault}`);
    onTooLarge(error);
    return error;
  };
  // a page of HTML may have any number of commas
  const mostParts = isStream || isJson(response) ? MOST_JSON_PARTS : Number.POSITIVE_INFINITY;
  const limits = { mostBytes, mostParts, tooLarge };
  if (response instanceof HttpResponse && !isStream) {
    response.limit(bodyCheck(limits));
    return response;
  }
  if (!response.body) return response;
  const { status, statusText, headers } = response;
  const body = paced(response.body, isStream ? eventCutter(limits) : bodyCutter(limits));
  return new Response(body, { status, statusText, headers });
}

export function isEventStream(response: Response): boolean {
  return /^text\/event-stream\s*(;|$)/i.test(contentType(response));
}

function isJson(response: Response): boolean {
  return /^application\/(\S+\+)?json\s*(;|$)/i.test(contentType(response));
}

function contentType(response: Response): string {
  const type = response instanceof HttpResponse ? response.contentType : response.headers.get('content-type');
  return type ?? '';
}

/** The error of a body that is too much, as soon as it is. */
function bodyCheck(limits: Limits): (chunk: Uint8Array) => Error | undefined {
  const weight = new JsonWeight(limits);
  let bytes = 0;
  return (chunk) => {
    bytes += chunk.byteLength;
    const fault = bytes > limits.mostBytes ? TOO_LONG : weight.add(chunk);
    return fault === undefined ? undefined : limits.tooLarge(fault);
  };
}

function bodyCutter(limits: Limits): (chunk: Uint8Array) => Uint8Array[] {
  const check = bodyCheck(limits);
  return (chunk) => {
    const error = check(chunk);
    if (error) throw error;
    return [chunk];
  };
}

/** Cuts where events end, at blank lines, and measures each event. A line ends with LF, CR or both. */
function eventCutter(limits: Limits): (chunk: Uint8Array) => Generator<Uint8Array> {
  let check = bodyCheck(limits);
  let isLineEmpty = true;
  let last: number | undefined;
  return function* (chunk) {
    let from = 0;
    for (let index = 0; index < chunk.length; index++) {
      const byte = chunk[index];
      const isSecondHalf = byte === LINE_FEED && last === CARRIAGE_RETURN;
      last = byte;
      if (byte !== LINE_FEED && byte !== CARRIAGE_RETURN) {
        isLineEmpty = false;
        continue;
      }
      if (isSecondHalf) continue;
      if (isLineEmpty) {
        yield* measured(chunk.subarray(from, index + 1), check);
        from = index + 1;
        check = bodyCheck(limits);
      }
      isLineEmpty = true;
    }
    yield* measured(chunk.subarray(from), check);
  };
}

function* measured(piece: Uint8Array, check: (chunk: Uint8Array) => Error | undefined): Generator<Uint8Array> {
  const error = check(piece);
  if (error) throw error;
  if (piece.length > 0) yield piece;
}
