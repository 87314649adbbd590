// A call told line by line (NDJSON): what streams in, then the answer. Who goes away ends the call.
import type { Logger } from 'pocket-agent';
import type { CallOptions, CallResponse } from '../base/types.ts';
import { toRefusal } from './errors.ts';

export const LINES = 'application/x-ndjson';

export function callLines(
  run: (options: CallOptions) => Promise<CallResponse>,
  { signal, logger }: { signal: AbortSignal; logger: Logger },
): Response {
  const gone = new AbortController();
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      const write = (line: object) => {
        if (!gone.signal.aborted) controller.enqueue(Buffer.from(`${JSON.stringify(line)}\n`));
      };
      try {
        const response = await run({
          signal: AbortSignal.any([signal, gone.signal]),
          onProgress: (progress) => write({ progress }),
        });
        write({ response });
      } catch (error) {
        const { code, message } = toRefusal(error, logger);
        write({ error: { code, message } });
      }
      if (!gone.signal.aborted) controller.close();
    },
    cancel: () => gone.abort(),
  });
  return new Response(body, { headers: { 'content-type': LINES, 'cache-control': 'no-store' } });
}
