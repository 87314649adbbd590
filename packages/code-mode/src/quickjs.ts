// Runs each script in QuickJS (quickjs-wasi), in a thread of its own. Memory is limited by the engine; processor time is
// measured from outside, so that no script can stop the clock, and a script that waits uses none.
import type { Worker } from 'node:worker_threads';
import { abortable, configError, errorText, isPocketError } from '@pocket-agent/kit';
import { installCommand } from 'pocket-agent/internal';
import type { Settled, ThreadData, ThreadMessage } from './quickjs-messages.ts';
import type { Sandbox, Script, ScriptEnd } from './sandbox.ts';

/** TypeScript has its types only for browsers. */
declare const WebAssembly: { compile(bytes: Uint8Array): Promise<object> };

/** How often the time of a running script is checked. */
const WATCH_MS = 100;
/** The id of a thread that has ended. */
const ENDED = -1;
/** Memory for the few texts in transit between the thread and its owner. */
const THREAD_HEAP_MB = 256;

/** Throws if the package is not installed. */
export function quickJs(): Sandbox {
  const engine = new Engine(locate('quickjs-wasi'), locate('quickjs-wasi/quickjs.wasm'));
  return { run: (script) => engine.run(script) };
}

/** Where this package is installed, or where the program is; see decision 028. */
function locate(name: string): string {
  const { createRequire } = process.getBuiltinModule('node:module');
  const program = process.argv[1];
  for (const place of [import.meta.url, ...(program ? [program] : [])]) {
    try {
      return createRequire(place).resolve(name);
    } catch {
      // not there
    }
  }
  throw configError(`Code mode needs a package that is not installed: ${installCommand('quickjs-wasi')}`);
}

class Engine {
  readonly #engine: string;
  readonly #wasmFile: string;
  #wasm: Promise<object> | undefined;

  constructor(engine: string, wasmFile: string) {
    this.#engine = process.getBuiltinModule('node:url').pathToFileURL(engine).href;
    this.#wasmFile = wasmFile;
  }

  async run(script: Script): Promise<ScriptEnd> {
    this.#wasm ??= compile(this.#wasmFile);
    const wasm = await abortable(this.#wasm, script.signal);
    const { code, functions, limits, time } = script;
    const thread = startThread({ engine: this.#engine, wasm, code, functions, limits, time });
    try {
      return await abortable(endOf(thread, script), script.signal);
    } finally {
      await thread.terminate();
    }
  }
}

async function compile(file: string): Promise<object> {
  const { readFile } = process.getBuiltinModule('node:fs/promises');
  return WebAssembly.compile(await readFile(file));
}

function startThread(workerData: ThreadData): Worker {
  const { Worker } = process.getBuiltinModule('node:worker_threads');
  const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'));
  return new Worker(new URL(`./quickjs-program${extension}`, import.meta.url), {
    workerData,
    env: {}, // no variables of the program: they may be keys
    stdin: false,
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: THREAD_HEAP_MB },
  });
}

function endOf(thread: Worker, script: Script): Promise<ScriptEnd> {
  const { promise, resolve } = Promise.withResolvers<ScriptEnd>();
  const fail = (error: string) => resolve({ error });
  thread.on('message', (message: ThreadMessage) => {
    if (message.type === 'started') watchTime(thread, script, fail);
    else if (message.type === 'log') script.log(message.line);
    else if (message.type === 'call') makeCall(script, message).then((settled) => thread.postMessage(settled));
    else resolve(message.type === 'returned' ? { value: message.value } : { error: message.error });
  });
  thread.on('error', (error) => fail(`The sandbox failed: ${errorText(error)}`));
  thread.on('exit', () => fail('The sandbox ended.'));
  return promise;
}

type CallMessage = Extract<ThreadMessage, { type: 'call' }>;

/** Never rejects. */
async function makeCall(script: Script, { id, name, args }: CallMessage): Promise<Settled> {
  try {
    return { id, isError: false, text: await script.call(name, args) };
  } catch (error) {
    const about = { message: errorText(error), ...(isPocketError(error) ? { code: error.code } : {}) };
    return { id, isError: true, text: JSON.stringify(about) };
  }
}

/** Fails a script that uses too much CPU time or takes too long. */
function watchTime(thread: Worker, { limits, isPaused }: Script, fail: (error: string) => void): void {
  const used = cpuClock(thread);
  let elapsedMs = 0;
  let lastAt = performance.now();
  const check = async () => {
    if (thread.threadId === ENDED) return clearInterval(timer);
    const now = performance.now();
    if (!isPaused()) elapsedMs += now - lastAt;
    lastAt = now;
    if (elapsedMs > limits.timeoutMs) fail(`The script took longer than ${limits.timeoutMs} ms and was ended.`);
    if ((await used()) > limits.cpuMs) fail(`The script used more than ${limits.cpuMs} ms of CPU time and was ended.`);
  };
  const timer = setInterval(() => check().catch(() => {}), WATCH_MS); // a thread that is ending has no clock
}

/** Milliseconds that the thread has worked from now on; before Node 24.6, on the clock. */
function cpuClock(thread: Worker): () => Promise<number> {
  const { eventLoopUtilization } = thread.performance;
  const start = eventLoopUtilization();
  if (!('cpuUsage' in thread)) return async () => eventLoopUtilization(start).active;
  const before = thread.cpuUsage();
  before.catch(() => {}); // the thread has ended
  return async () => {
    const [{ user, system }, at] = await Promise.all([thread.cpuUsage(), before]);
    return (user - at.user + system - at.system) / 1_000;
  };
}
