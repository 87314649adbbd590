// Streams a call as NDJSON: progress lines, then the response. Closing the connection cancels the call.
import type { Logger } from '@pocket-agent/kit';
import type { CallOptions, CallResponse } from '../base/calls.ts';
import { toRefusal } from './errors.ts';

export const LINES = 'application/x-ndjson';

export function callLines(
  run: (options: CallOptions) => Promise<CallResponse>,
  { signal, logger }: { signal: AbortSignal; logger: Logger },
): Response {
  const disconnected = new AbortController();
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      const write = (line: object) => {
        if (!disconnected.signal.aborted) controller.enqueue(Buffer.from(`${JSON.stringify(line)}\n`));
      };
      try {
        const response = await run({
          signal: AbortSignal.any([signal, disconnected.signal]),
          onProgress: (progress) => write({ progress }),
        });
        write({ response });
      } catch (error) {
        const { code, message } = toRefusal(error, logger);
        write({ error: { code, message } });
      }
      if (!disconnected.signal.aborted) controller.close();
    },
    cancel: () => disconnected.abort(),
  });
  return new Response(body, { headers: { 'content-type': LINES, 'cache-control': 'no-store' } });
}
