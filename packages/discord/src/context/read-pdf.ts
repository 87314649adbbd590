// Reads a PDF in a child process, so that a malicious file can exhaust only the time and memory of that process.
import { fork } from 'node:child_process';
import { compileCacheEnv, onAbort, Semaphore } from '@pocket-agent/kit';
import type { PdfMessage } from './pdf-program.ts';

const MAX_MS = 5_000;
/** Loading the library can take seconds on a busy machine. */
const START_MS = 30_000;
const MAX_MEGABYTES = 256;
const MAX_READERS = 2;
const program = new URL(import.meta.url.endsWith('.ts') ? './pdf-program.ts' : './pdf-program.js', import.meta.url);

const readers = new Semaphore(MAX_READERS);

/** The text, empty for a scan and truncated if very long. Throws if the file is broken, encrypted, or exceeds a limit. */
export async function readPdf(bytes: Uint8Array, signal: AbortSignal, maxMs = MAX_MS): Promise<string> {
  const release = await readers.acquire(signal);
  try {
    return await read(bytes, signal, maxMs);
  } finally {
    release();
  }
}

async function read(bytes: Uint8Array, signal: AbortSignal, maxMs: number): Promise<string> {
  signal.throwIfAborted();
  const child = fork(program, {
    execArgv: [`--max-old-space-size=${MAX_MEGABYTES}`],
    env: compileCacheEnv(), // no other variables, which include the token of the bot
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let timer = setTimeout(() => reject(new Error(`the reader did not start within ${START_MS} ms`)), START_MS);
  const release = onAbort(signal, reject);
  child
    .on('message', (message: PdfMessage) => {
      if (message === 'ready') {
        clearTimeout(timer);
        timer = setTimeout(() => reject(new Error(`not read after ${maxMs} ms`)), maxMs);
      } else if ('text' in message) resolve(message.text);
      else reject(new Error(message.problem));
    })
    .once('error', reject)
    .once('exit', () => reject(new Error('the reader ended, perhaps out of memory')));
  child.send(bytes, (error) => error && reject(error));
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    release();
    child.kill('SIGKILL');
  }
}
