// Limits on what a model server may send. Provider packages read a whole body, however long it is.

/** The rest of an error is not read. */
const MAX_ERROR_BYTES = 100_000;
const MAX_BYTES = 64 * 1_024 * 1_024;
/** A stream has a few hundred bytes around each word. */
const MAX_STREAM_BYTES = 128 * 1_024 * 1_024;
const MAX_JSON_VALUES = 1_000_000;

type ByteFilter = TransformStream<Uint8Array, Uint8Array>;

export async function limitResponse(response: Response): Promise<Response> {
  const { body, status, statusText, headers, ok } = response;
  if (!body) return response;
  const filter = ok ? await filterFor(headers) : truncateAfter(MAX_ERROR_BYTES);
  return new Response(body.pipeThrough(filter), { status, statusText, headers });
}

async function filterFor(headers: Headers): Promise<ByteFilter> {
  if (headers.get('content-type')?.startsWith('text/event-stream')) return failAfter(MAX_STREAM_BYTES);
  const { JsonWeight } = await import('@pocket-agent/http/json-weight');
  const weight = new JsonWeight({ mostValues: MAX_JSON_VALUES });
  return failAfter(MAX_BYTES, (chunk) => weight.add(chunk));
}

/** `faultOf` returns what is wrong with the answer so far, if anything. */
function failAfter(maxBytes: number, faultOf: (chunk: Uint8Array) => string | undefined = () => undefined): ByteFilter {
  let bytes = 0;
  return new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      const fault = bytes > maxBytes ? `of more than ${maxBytes} bytes, the most that are read` : faultOf(chunk);
      if (fault === undefined) controller.enqueue(chunk);
      else controller.error(new Error(`The model server sent an answer ${fault}`));
    },
  });
}

function truncateAfter(maxBytes: number): ByteFilter {
  let left = maxBytes;
  return new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      controller.enqueue(chunk.subarray(0, left));
      left -= chunk.byteLength;
      if (left <= 0) controller.terminate();
    },
  });
}
