// The thread of one script: QuickJS in WebAssembly, without network, files, modules and timers. Only JSON text goes in and out.
import { parentPort, workerData } from 'node:worker_threads';
import type { JSValueHandle, QuickJS } from 'quickjs-wasi';
import type { Settled, ThreadData, ThreadMessage } from './quickjs-messages.ts';

const { engine, wasm, code, functions, limits, time }: ThreadData = workerData;
/** Half of the stack of the engine: native frames need the rest. */
const STACK_BYTES = 2 ** 19;
const MAX_STACK = 100_000;
const MAX_IN_PROGRESS = Math.max(limits.argumentBytes, Math.floor(limits.memoryBytes / 8));
const OUT_OF_MEMORY = /out of memory/i;

/**
 * Runs in the sandbox before the script, which may replace every global: what is needed later is kept in variables. It could
 * deceive only itself, because `send`, `print` and `end` check what they get.
 */
const PRELUDE = `(function (send, print, end, table) {
  'use strict';
  const { parse, stringify } = JSON;
  const { Promise, Error, TypeError, Proxy, String, Object } = globalThis;
  const { keys, freeze, defineProperty } = Object;
  const pending = { __proto__: null };
  const call = (name, args) => {
    const error = new Error(''); // has the line of the call
    return new Promise((resolve, reject) => {
      const id = send(name, args === undefined ? '{}' : (stringify(args) ?? 'null'));
      pending[id] = { resolve, reject, error };
    });
  };
  const show = (value) => {
    if (typeof value === 'string') return value;
    try { return (value instanceof Error ? undefined : stringify(value)) ?? String(value); } catch { return '[unprintable]'; }
  };
  const groups = parse(table);
  for (const group of keys(groups)) {
    const names = { __proto__: null, ...groups[group] };
    const get = (_, key) => {
      if (typeof key !== 'string' || (key === 'then' && !names.then)) return undefined;
      // names that do not exist go out as well: what a script tries is refused and recorded like any call
      const name = names[key] ?? (group === 'tools' ? key : group + '.' + key);
      return (args) => {
        // the engine calls these two, but never with an object: to wait for a namespace, and to make JSON of it
        if (key === 'then' && typeof args === 'function') throw new TypeError(group + ' is not a promise');
        if (key === 'toJSON' && typeof args === 'string') return keys(names);
        return call(name, args);
      };
    };
    defineProperty(globalThis, group, { value: new Proxy(names, { get }) });
  }
  const log = (...values) => print(values.map(show).join(' '));
  defineProperty(globalThis, 'console', { value: freeze({ log, info: log, warn: log, error: log, debug: log }) });
  return {
    settle(id, isError, text) {
      const { resolve, reject, error } = pending[id];
      delete pending[id];
      try {
        const value = parse(text);
        if (!isError) return resolve(value);
        for (const key of keys(value)) defineProperty(error, key, { value: value[key] });
        reject(error);
      } catch (problem) { reject(problem); }
    },
    async run(main) {
      try {
        const value = await main();
        end(true, value === undefined ? '' : (stringify(value) ?? ''), '');
      } catch (error) {
        const isError = error instanceof Error;
        end(false, show(error), isError ? String(error.stack) : '');
      }
    },
  };
})`;

const tell = (message: ThreadMessage) => parentPort?.postMessage(message);

let isOver = false;
function finish(message: ThreadMessage): void {
  if (isOver) return;
  isOver = true;
  tell(message);
  parentPort?.close();
}

/** Throws in the script. Measured before it is copied out of the sandbox. */
function textOf(handle: JSValueHandle | undefined, maxLength: number, what: string): string {
  if (!handle?.isString) throw new TypeError(`${what} must be a string.`);
  const length = handle.getProp('length').consume((each) => each.toNumber());
  if (length > maxLength) throw new RangeError(`${what} has ${length} characters; the limit is ${maxLength}.`);
  return handle.toString();
}

async function start(): Promise<void> {
  const { QuickJS, Intrinsics }: typeof import('quickjs-wasi') = await import(engine);
  const vm = await QuickJS.create({
    wasm,
    memoryLimit: limits.memoryBytes,
    maxStackSize: STACK_BYTES,
    // no clock finer than a millisecond
    intrinsics: Intrinsics.ALL & ~Intrinsics.PERFORMANCE,
    timezoneOffset: 0,
    wasi: (memory: Memory) => ({ fd_write: () => 8, ...(time === undefined ? {} : fixedClock(memory, time)) }),
  });
  const { settle, run, pendingCalls } = prepare(vm);
  const advance = (step: () => void) => {
    try {
      step();
      vm.executePendingJobs();
    } catch (error) {
      const { stack } = error instanceof Error ? error : {};
      finish({ type: 'failed', error: failureText(String(error), stack) });
    }
    const stuck = 'The script waits for a promise that nothing will settle.';
    if (pendingCalls() === 0) finish({ type: 'failed', error: stuck });
  };
  parentPort?.on('message', (settled: Settled) => advance(() => settle(settled)));
  tell({ type: 'started' });
  advance(run);
}

/** The memory of the engine. TypeScript has the type only for browsers. */
interface Memory {
  buffer: ArrayBufferLike;
}

/** `Math.random()` begins with the time. */
function fixedClock(memory: Memory, milliseconds: number) {
  return {
    clock_time_get: (_clock: number, _precision: bigint, result: number) => {
      new DataView(memory.buffer).setBigUint64(result, BigInt(milliseconds) * 1_000_000n, true);
      return 0;
    },
  };
}

interface Prepared {
  settle(settled: Settled): void;
  run(): void;
  pendingCalls(): number;
}

function prepare(vm: QuickJS): Prepared {
  let calls = 0;
  /** The characters of the arguments of each call in progress, by its id. The program holds them several times. */
  const inProgress = new Map<number, number>();
  let argumentsInProgress = 0;
  let printed = 0;
  const send = vm.newFunction('send', (name, args) => {
    if (calls >= limits.calls) throw new RangeError(`A script makes at most ${limits.calls} calls.`);
    const call = {
      name: textOf(name, 1_000, 'The name of a function'),
      args: textOf(args, limits.argumentBytes, 'The JSON of the arguments'),
    };
    argumentsInProgress += call.args.length;
    if (argumentsInProgress > MAX_IN_PROGRESS) {
      argumentsInProgress -= call.args.length;
      const text = `The arguments of calls in progress may have ${MAX_IN_PROGRESS} characters together`;
      throw new RangeError(`${text}: wait for some of them first.`);
    }
    inProgress.set(++calls, call.args.length);
    tell({ type: 'call', id: calls, ...call });
    return vm.newNumber(calls);
  });
  const print = vm.newFunction('print', (line) => {
    // the owner cuts it to the bytes that are left
    if (printed <= limits.outputBytes) {
      const text = textOf(line, limits.outputBytes, 'The text for the console');
      printed += text.length + 1;
      tell({ type: 'log', line: text });
    }
    return vm.undefined;
  });
  const end = vm.newFunction('end', (isValue, value, stack) => {
    if (isValue?.toBoolean()) {
      const text = textOf(value, limits.outputBytes, 'The returned value as JSON');
      finish({ type: 'returned', value: text === '' ? undefined : text });
    } else {
      finish({ type: 'failed', error: errorOf(value, stack) });
    }
    return vm.undefined;
  });
  const made = vm.evalCode(PRELUDE, 'prelude');
  const tools = vm.callFunction(made, vm.undefined, send, print, end, vm.newString(JSON.stringify(functions)));
  const settle = tools.getProp('settle');
  const run = tools.getProp('run');
  return {
    settle({ id, isError, text }) {
      argumentsInProgress -= inProgress.get(id) ?? 0;
      inProgress.delete(id);
      const args = [vm.newNumber(id), isError ? vm.true : vm.false, vm.newString(text)];
      vm.callFunction(settle, vm.undefined, ...args).dispose();
      for (const each of args.slice(2)) each.dispose();
    },
    run: () => vm.callFunction(run, vm.undefined, vm.evalCode(`(async () => {${code}\n})`, 'script')).dispose(),
    pendingCalls: () => inProgress.size,
  };
}

function errorOf(text: JSValueHandle | undefined, stack: JSValueHandle | undefined): string {
  try {
    return failureText(textOf(text, limits.outputBytes, 'The error'), textOf(stack, MAX_STACK, 'The stack'));
  } catch (error) {
    return String(error);
  }
}

/** With the line of the script, if its stack names one. */
function failureText(error: string, stack = ''): string {
  if (OUT_OF_MEMORY.test(error)) return `The script used more than its ${limits.memoryBytes} bytes of memory.`;
  const [, line] = /\bscript:(\d+)/.exec(stack) ?? [];
  return line === undefined ? error : `${error} (line ${line})`;
}

start().catch((error) => finish({ type: 'failed', error: String(error) }));
