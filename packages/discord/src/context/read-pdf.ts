// Reads a PDF beside the program: a file made to take for ever, or all memory, keeps the bot from nothing else.
import { Worker } from 'node:worker_threads';

const MOST_MS = 5_000;
const MOST_MEGABYTES = 128;
const MOST_READERS = 2;
const program = new URL(import.meta.url.endsWith('.ts') ? './pdf-worker.ts' : './pdf-worker.js', import.meta.url);

let readers = 0;
/** Those who want to read while all readers are at work, the first first. */
const waiting = new Set<() => void>();

/** Its text; empty when there is none. Throws when it takes too long or too much. */
export async function readPdf(bytes: Uint8Array, signal: AbortSignal, mostMs = MOST_MS): Promise<string> {
  if (readers < MOST_READERS) readers++;
  else await turn(signal);
  try {
    return await read(bytes, signal, mostMs);
  } finally {
    const [next] = waiting;
    if (next) {
      // whoever comes next takes this place over, so that nobody else gets in between
      waiting.delete(next);
      next();
    } else readers--;
  }
}

async function turn(signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const stop = () => {
    waiting.delete(resolve);
    reject(signal.reason);
  };
  waiting.add(resolve);
  signal.addEventListener('abort', stop, { once: true });
  try {
    await promise;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

async function read(bytes: Uint8Array, signal: AbortSignal, mostMs: number): Promise<string> {
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
