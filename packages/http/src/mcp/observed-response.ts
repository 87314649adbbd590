// Reports the end of a response, and a client that disconnects.
import { onAbort } from '@pocket-agent/kit';

interface ResponseObserver {
  /** An event stream without an event begins after this time. Default 0. */
  openAfterMs?: number;
  onEnd(): void;
  /** The client closed the connection. */
  onDisconnect?(): void;
}

/**
 * The response, with callbacks for its end and for a client that closes the connection. Without this the SDK would
 * keep an event stream until its next write, and refuse a new one from the same client. An event stream starts with a
 * comment, because Node sends the headers only together with a part of the body; an answer that comes soon needs none,
 * and takes one packet less.
 */
export function observed(
  response: Response,
  signal: AbortSignal,
  { openAfterMs = 0, onEnd, onDisconnect }: ResponseObserver,
): Response {
  if (!response.body) {
    onEnd();
    return response;
  }
  const reader = response.body.getReader();
  const cancel = async () => {
    onDisconnect?.();
    await reader.cancel().catch(() => {}); // it has failed or ended already
  };
  const removeListener = onAbort(signal, () => void cancel());
  let opening: NodeJS.Timeout | undefined;
  const done = () => {
    clearTimeout(opening);
    removeListener();
    onEnd();
  };
  reader.closed.then(done, done);
  const isStream = response.headers.get('content-type') === 'text/event-stream';
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      const open = () => controller.enqueue(Buffer.from(': open\n\n'));
      if (isStream && openAfterMs > 0) opening = setTimeout(open, openAfterMs);
      else if (isStream) open();
    },
    async pull(controller) {
      const { value, done: isDone } = await reader.read();
      clearTimeout(opening);
      if (isDone) controller.close();
      else controller.enqueue(value);
    },
    cancel,
  });
  return new Response(body, response);
}
