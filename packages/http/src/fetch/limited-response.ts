// Limits what a server sends, after decompression: a whole body, or each event of an event stream.
import { JsonWeight, MAX_JSON_PARTS } from '../json-weight.ts';
import { HttpResponse, type Split, splitting, streamOf } from './response.ts';

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
const BYTES_PER_KIB = 1_024;
const BYTES_PER_MB = 1_024 * 1_024;

export interface ResponseLimits {
  /** The largest body, or the largest event of a stream. Default: no limit. */
  maxBytes?: number;
  /** Called once, before the reader of the response sees the error. */
  onTooLarge?(error: Error): void;
}

/** Throws for a message that is too large. */
type Check = (chunk: Uint8Array) => void;

/** The response; reading it fails once its body, or one event of it, is too large or holds too many JSON values. */
export function limitedResponse(response: Response, limits: ResponseLimits = {}): Response {
  const isStream = isEventStream(response);
  // a page of HTML may have any number of commas
  const maxParts = isStream || isJson(response) ? MAX_JSON_PARTS : Number.POSITIVE_INFINITY;
  const makeCheck = () => checkOf(limits, maxParts);
  const split = isStream ? eventSplitter(makeCheck) : checkedWhole(makeCheck());
  if (response instanceof HttpResponse) {
    response.passThrough(split);
    return response;
  }
  if (!response.body) return response;
  const { status, statusText, headers } = response;
  const reader = response.body.getReader();
  const cancel = (reason: unknown) => reader.cancel(reason).catch(() => {}); // the stream may have failed already
  const read = splitting(async () => (await reader.read()).value, split, cancel);
  return new Response(streamOf(read, cancel), { status, statusText, headers });
}

export function isEventStream(response: Response): boolean {
  return /^text\/event-stream\s*(;|$)/i.test(contentType(response));
}

function isJson(response: Response): boolean {
  return /^application\/(\S+\+)?json\s*(;|$)/i.test(contentType(response));
}

function contentType({ headers }: Response): string {
  return headers.get('content-type') ?? '';
}

function checkOf({ maxBytes = Number.POSITIVE_INFINITY, onTooLarge }: ResponseLimits, maxParts: number): Check {
  const weight = new JsonWeight({ maxParts });
  const tooLong = `that exceeds the limit of ${sizeText(maxBytes)}`;
  let bytes = 0;
  return (chunk) => {
    bytes += chunk.byteLength;
    const fault = bytes > maxBytes ? tooLong : weight.add(chunk);
    if (fault === undefined) return;
    const error = new Error(`it sent a message ${fault}`);
    onTooLarge?.(error);
    throw error;
  };
}

function sizeText(bytes: number): string {
  return bytes < BYTES_PER_MB ? `${bytes / BYTES_PER_KIB} KiB` : `${bytes / BYTES_PER_MB} MB`;
}

function checkedWhole(check: Check): Split {
  return (chunk) => {
    check(chunk);
    return [chunk];
  };
}

/** Splits chunks where events end, at blank lines, and checks each event. A line ends with LF, CR or both. */
function eventSplitter(makeCheck: () => Check): Split {
  let check = makeCheck();
  let isLineEmpty = true;
  let isAfterReturn = false;
  return function* (chunk) {
    let from = 0;
    let line = 0;
    for (let end = lineEnd(chunk, 0); end !== -1; end = lineEnd(chunk, line)) {
      if (end > line) isLineEmpty = false;
      const isSecondHalf = chunk[end] === LINE_FEED && end === line && isAfterReturn;
      isAfterReturn = chunk[end] === CARRIAGE_RETURN;
      line = end + 1;
      if (isSecondHalf) continue;
      if (isLineEmpty) {
        const event = chunk.subarray(from, line);
        check(event);
        yield event;
        from = line;
        check = makeCheck();
      }
      isLineEmpty = true;
    }
    if (chunk.length > line) {
      isLineEmpty = false;
      isAfterReturn = false;
    }
    const rest = chunk.subarray(from);
    check(rest);
    if (rest.length > 0) yield rest;
  };
}

/** The index of the next LF or CR, or -1. A plain function, since loops in generators are slow. */
function lineEnd(chunk: Uint8Array, from: number): number {
  for (let index = from; index < chunk.length; index++) {
    if (chunk[index] === LINE_FEED || chunk[index] === CARRIAGE_RETURN) return index;
  }
  return -1;
}
