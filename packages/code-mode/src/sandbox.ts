// The interface of sandboxes: they run one script within limits, and its only access to the outside is functions.

/** Names that a script uses, by namespace, and the names of the tools behind them. */
export type ScriptFunctions = Readonly<Record<string, Readonly<Record<string, string>>>>;

export interface ScriptLimits {
  memoryBytes: number;
  cpuMs: number;
  /** Elapsed time. */
  timeoutMs: number;
  calls: number;
  /** The limit for the returned value and the console together. */
  outputBytes: number;
  /** JSON of the arguments of one call. */
  argumentBytes: number;
}

export interface Script {
  /** The body of an async function. */
  code: string;
  functions: ScriptFunctions;
  limits: ScriptLimits;
  /** Its clock stands still at this time, so that it does the same when it is repeated; undefined for the real time. */
  time: number | undefined;
  /** Ends the script at once. */
  signal: AbortSignal;
  /** Arguments and result are JSON. The script sees an error with the message of a rejection. */
  call(name: string, args: string): Promise<string>;
  /** One line of the console. */
  log(line: string): void;
  /** While it returns true, the clock stands still. */
  isPaused(): boolean;
}

/** How a script ended. `value` is JSON; undefined if it returned nothing. */
export type ScriptEnd = { value: string | undefined } | { error: string };

/** Rejects only if the signal is aborted or the sandbox cannot start. Nothing of the script runs afterwards. */
export interface Sandbox {
  run(script: Script): Promise<ScriptEnd>;
}
