// Reads a PDF in a child process: a file made to take for ever, or all memory, ends that process and nothing else.
import { fork } from 'node:child_process';
import type { PdfMessage } from './pdf-program.ts';

const MOST_MS = 5_000;
/** Loading the library takes seconds on a slow or busy machine. */
const START_MS = 30_000;
const MOST_MEGABYTES = 256;
const MOST_READERS = 2;
const program = new URL(import.meta.url.endsWith('.ts') ? './pdf-program.ts' : './pdf-program.js', import.meta.url);

let readers = 0;
/** Callers that wait for a reader, in order. */
const waiting = new Set<() => void>();

/** Its text; empty for a scan, cut if it is very long. Throws for a broken or encrypted file, and for one that takes too much time or memory. */
export async function readPdf(bytes: Uint8Array, signal: AbortSignal, mostMs = MOST_MS): Promise<string> {
  if (readers < MOST_READERS) readers++;
  else await turn(signal);
  try {
    return await read(bytes, signal, mostMs);
  } finally {
    const [next] = waiting;
    if (next) {
      // the next caller takes over this place, so none can get in between
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
  signal.throwIfAborted();
  const child = fork(program, {
    execArgv: [`--max-old-space-size=${MOST_MEGABYTES}`],
    env: {},
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const stop = () => reject(signal.reason);
  let timer = setTimeout(() => reject(new Error(`its reader did not start within ${START_MS} ms`)), START_MS);
  signal.addEventListener('abort', stop, { once: true });
  child
    .on('message', (message: PdfMessage) => {
      if (message === 'ready') {
        clearTimeout(timer);
        timer = setTimeout(() => reject(new Error(`not read after ${mostMs} ms`)), mostMs);
      } else if ('text' in message) resolve(message.text);
      else reject(new Error(message.problem));
    })
    .once('error', reject)
    .once('exit', () => reject(new Error('its reader ended, perhaps out of memory')));
  child.send(bytes, (error) => error && reject(error));
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
    child.kill('SIGKILL');
  }
}
