// Reads a PDF beside the program: a file made to take for ever must not keep the bot from everything else.
import { Worker } from 'node:worker_threads';

const MOST_MS = 10_000;
const MOST_MEGABYTES = 512;
const program = new URL(import.meta.url.endsWith('.ts') ? './pdf-worker.ts' : './pdf-worker.js', import.meta.url);

/** Its text; empty when there is none. Throws when it takes too long or too much. */
export async function readPdf(bytes: Uint8Array, signal: AbortSignal, mostMs = MOST_MS): Promise<string> {
  const worker = new Worker(program, {
    workerData: bytes,
    execArgv: [],
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: MOST_MEGABYTES },
  });
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const stop = () => reject(signal.reason);
  const timer = setTimeout(() => reject(new Error(`not read after ${mostMs} ms`)), mostMs);
  signal.addEventListener('abort', stop, { once: true });
  worker
    .once('message', resolve)
    .once('error', reject)
    .once('exit', () => reject(new Error('the reader ended')));
  try {
    signal.throwIfAborted();
    return await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
    await worker.terminate();
  }
}
