// What a model server may answer at most. Provider packages read any body whole, however long it is.

/** More of an error is not read: its text is shown to a person. */
const MOST_ERROR_BYTES = 100_000;
const MOST_BYTES = 64 * 1_024 * 1_024;
/** A stream has a few hundred bytes around each word. */
const MOST_STREAM_BYTES = 128 * 1_024 * 1_024;
const MOST_VALUES = 1_000_000;

export async function boundedAnswer(response: Response): Promise<Response> {
  const { body, status, statusText, headers, ok } = response;
  if (!body) return response;
  const limit = ok ? await limitOf(headers) : cutOff(MOST_ERROR_BYTES);
  return new Response(body.pipeThrough(limit), { status, statusText, headers });
}

async function limitOf(headers: Headers): Promise<TransformStream<Uint8Array, Uint8Array>> {
  if (headers.get('content-type')?.startsWith('text/event-stream')) return refuseLonger(MOST_STREAM_BYTES);
  const { JsonWeight } = await import('@pocket-agent/http/json-weight');
  const weight = new JsonWeight({ mostValues: MOST_VALUES });
  return refuseLonger(MOST_BYTES, (chunk) => weight.add(chunk));
}

function refuseLonger(mostBytes: number, faultOf: (chunk: Uint8Array) => string | undefined = () => undefined) {
  let bytes = 0;
  return new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      const fault = bytes > mostBytes ? `of more than ${mostBytes} bytes, the most that are read` : faultOf(chunk);
      if (fault === undefined) controller.enqueue(chunk);
      else controller.error(new Error(`The model server sent an answer ${fault}`));
    },
  });
}

function cutOff(mostBytes: number) {
  let left = mostBytes;
  return new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      controller.enqueue(chunk.subarray(0, left));
      left -= chunk.byteLength;
      if (left <= 0) controller.terminate();
    },
  });
}
