// A response with server-sent events.

/** Keeps proxies from closing an idle stream. */
const HEARTBEAT_MS = 15_000;

/** An error before the first item becomes the response of `refuse`; a later one breaks the stream. */
export async function eventStream<Item>(
  items: AsyncGenerator<Item>,
  show: (item: Item) => unknown,
  refuse: (error: unknown) => Response,
): Promise<Response> {
  let next: IteratorResult<Item>;
  try {
    next = await items.next();
  } catch (error) {
    return refuse(error);
  }
  const write = (text: string) => new TextEncoder().encode(text);
  let heartbeat: NodeJS.Timeout | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      heartbeat = setInterval(() => controller.enqueue(write(': keep-alive\n\n')), HEARTBEAT_MS).unref();
    },
    async pull(controller) {
      try {
        if (!next.done) {
          controller.enqueue(write(`data: ${JSON.stringify(show(next.value))}\n\n`));
          next = await items.next();
        }
        if (!next.done) return;
        clearInterval(heartbeat);
        controller.close();
      } catch (error) {
        clearInterval(heartbeat);
        controller.error(error);
      }
    },
    cancel() {
      clearInterval(heartbeat);
      // a pending next() ends with the signal of the request
      items.return(undefined).catch(() => {});
    },
  });
  return new Response(body, {
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', 'x-accel-buffering': 'no' },
  });
}
