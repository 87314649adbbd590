// Answers that come one after the other, as server-sent events.

/** So that nothing between the two takes a quiet stream for a dead one. */
const HEARTBEAT_MS = 15_000;

/** An error before the first answer is told by `refuse`, as of a request without a stream; one after it ends the stream. */
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
      heartbeat = setInterval(() => controller.enqueue(write(': still here\n\n')), HEARTBEAT_MS).unref();
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
      // it waits for what comes next; the signal of the request has ended that
      items.return(undefined).catch(() => {});
    },
  });
  return new Response(body, {
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', 'x-accel-buffering': 'no' },
  });
}
