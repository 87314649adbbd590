// The messages between the thread of a script and its owner. Values are JSON text.
import type { ScriptFunctions, ScriptLimits } from './sandbox.ts';

export interface ThreadData {
  /** URL of the module quickjs-wasi. */
  engine: string;
  /** The compiled module of the engine. */
  wasm: object;
  code: string;
  functions: ScriptFunctions;
  limits: ScriptLimits;
  time: number | undefined;
}

/** From the thread. */
export type ThreadMessage =
  | { type: 'started' }
  | { type: 'call'; id: number; name: string; args: string }
  | { type: 'log'; line: string }
  | { type: 'returned'; value: string | undefined }
  | { type: 'failed'; error: string };

/** The result of a call. */
export interface Settled {
  id: number;
  /** JSON: the value, or the `message` and `code` of an error. */
  text: string;
  isError: boolean;
}
