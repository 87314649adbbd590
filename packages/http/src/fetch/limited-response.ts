// Limits what a server sends, after decompression: a whole body, or each event of an event stream.
import { setImmediate } from 'node:timers/promises';
import { JsonWeight, MOST_JSON_PARTS } from '../json-weight.ts';
import { HttpResponse } from './http-response.ts';

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
/** Events are passed on for this long at a time; then other work of the process gets a turn. */
const SLICE_MS = 10;
const BYTES_PER_MB = 1_024 * 1_024;

export interface ResponseLimits {
  /** Of a body, or of one event. Default: no limit. */
  mostBytes?: number;
  /** Called once, before the reader of the response sees the error. */
  onTooLarge?(error: Error): void;
}

type ChunkCheck = (chunk: Uint8Array) => Error | undefined;

/** The response; reading it fails once its body, or one event of it, is too large or holds too many JSON values. */
export function limitedResponse(response: Response, limits: ResponseLimits = {}): Response {
  const isStream = isEventStream(response);
  // a page of HTML may have any number of commas
  const mostParts = isStream || isJson(response) ? MOST_JSON_PARTS : Number.POSITIVE_INFINITY;
  const makeCheck = () => chunkCheck(limits, mostParts);
  if (response instanceof HttpResponse && !isStream) {
    response.limit(makeCheck());
    return response;
  }
  if (!response.body) return response;
  const { status, statusText, headers } = response;
  const body = paced(response.body, isStream ? eventSplitter(makeCheck) : checkedBody(makeCheck()));
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

function chunkCheck(
  { mostBytes = Number.POSITIVE_INFINITY, onTooLarge }: ResponseLimits,
  mostParts: number,
): ChunkCheck {
  const weight = new JsonWeight({ mostParts });
  const tooLong = `of more than ${mostBytes / BYTES_PER_MB} MB, the most that is read`;
  let bytes = 0;
  return (chunk) => {
    bytes += chunk.byteLength;
    const fault = bytes > mostBytes ? tooLong : weight.add(chunk);
    if (fault === undefined) return undefined;
    const error = new Error(`it sent a message ${fault}`);
    onTooLarge?.(error);
    return error;
  };
}

function checkedBody(check: ChunkCheck): (chunk: Uint8Array) => Uint8Array[] {
  return (chunk) => {
    const error = check(chunk);
    if (error) throw error;
    return [chunk];
  };
}

/** Splits chunks where events end, at blank lines, and checks each event. A line ends with LF, CR or both. */
function eventSplitter(makeCheck: () => ChunkCheck): (chunk: Uint8Array) => Generator<Uint8Array> {
  let check = makeCheck();
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
        yield* checked(chunk.subarray(from, index + 1), check);
        from = index + 1;
        check = makeCheck();
      }
      isLineEmpty = true;
    }
    yield* checked(chunk.subarray(from), check);
  };
}

function* checked(piece: Uint8Array, check: ChunkCheck): Generator<Uint8Array> {
  const error = check(piece);
  if (error) throw error;
  if (piece.length > 0) yield piece;
}

/** Passes on the pieces of a stream one by one, and lets other work run in between when that takes long. */
function paced(body: ReadableStream<Uint8Array>, split: (chunk: Uint8Array) => Iterable<Uint8Array>) {
  const reader = body.getReader();
  let startedAt = performance.now();
  let pieces: Iterator<Uint8Array> | undefined;
  const next = async (): Promise<Uint8Array | undefined> => {
    for (;;) {
      const piece = pieces?.next();
      if (piece && !piece.done) return piece.value;
      const { value, done } = await reader.read();
      if (done) return undefined;
      pieces = split(value)[Symbol.iterator]();
    }
  };
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (performance.now() - startedAt > SLICE_MS) {
          await setImmediate();
          startedAt = performance.now();
        }
        const piece = await next().catch((error) => {
          reader.cancel(error).catch(() => {}); // the stream may have failed already
          throw error;
        });
        if (piece) controller.enqueue(piece);
        else controller.close();
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}
