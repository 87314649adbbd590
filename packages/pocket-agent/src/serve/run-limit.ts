// Limits the parallel runs of a served agent and the size of their messages, in total and per caller.

const DEFAULT_MAX_RUNS = 1_000;
/** The share of the limits that each of several callers may use. */
const CALLER_SHARE = 1 / 4;

interface RunLimitOptions {
  /** The agent, for the text of a refusal. */
  name: string;
  /** What is limited, for the text. Default `run`. */
  unit?: 'run' | 'request';
  maxRuns?: number | undefined;
  maxRunsPerCaller?: number | undefined;
  /** Bytes of the messages that started the runs. Default: no limit. */
  maxBytes?: number | undefined;
}

interface Usage {
  runs: number;
  bytes: number;
}

/** A caller with what it wants to start. */
interface RunRequest {
  caller: string;
  /** Whether there are other callers, so that this one may use only a share. */
  isOneOfMany: boolean;
  /** The size of its message. */
  bytes?: number;
}

export class RunLimit {
  readonly #options: RunLimitOptions;
  readonly #total: Usage = { runs: 0, bytes: 0 };
  readonly #callers = new Map<string, Usage>();

  constructor(options: RunLimitOptions) {
    this.#options = options;
  }

  /** Why the caller cannot start another run. With several callers, each may use only a share of the total. */
  refusal(request: RunRequest): string | undefined {
    return this.#tooManyRuns(request) ?? this.#tooManyBytes(request);
  }

  /** Counts a run until the returned function is called. */
  begin({ caller, bytes = 0 }: Omit<RunRequest, 'isOneOfMany'>): () => void {
    this.#count(caller, { runs: 1, bytes });
    return () => this.#count(caller, { runs: -1, bytes: -bytes });
  }

  #tooManyRuns({ caller, isOneOfMany }: RunRequest): string | undefined {
    const { name, unit = 'run', maxRuns = DEFAULT_MAX_RUNS } = this.#options;
    const { maxRunsPerCaller = isOneOfMany ? Math.ceil(maxRuns * CALLER_SHARE) : maxRuns } = this.#options;
    if (this.#total.runs >= maxRuns)
      return `${name} already has ${counted(maxRuns, unit)}, its limit; try again later.`;
    if (this.#usageOf(caller).runs < maxRunsPerCaller) return undefined;
    return `You already have ${counted(maxRunsPerCaller, unit)} of ${name}, the limit for one caller; try again when one has ended.`;
  }

  /** A message that exceeds the limit by itself may run alone; `maxBodyBytes` limits single messages. */
  #tooManyBytes({ caller, isOneOfMany, bytes = 0 }: RunRequest): string | undefined {
    const { name, maxBytes = Number.POSITIVE_INFINITY } = this.#options;
    const share = isOneOfMany ? Math.ceil(maxBytes * CALLER_SHARE) : maxBytes;
    const own = this.#usageOf(caller).bytes;
    if (this.#total.bytes > 0 && this.#total.bytes + bytes > maxBytes)
      return `${name} runs tasks with ${this.#total.bytes} bytes of messages; with this message they would exceed its limit of ${maxBytes} bytes. Try again later.`;
    if (own === 0 || own + bytes <= share) return undefined;
    return `You have tasks of ${name} with ${own} bytes of messages; with this message they would exceed the limit of ${share} bytes for one caller. Try again when one has ended.`;
  }

  #usageOf(caller: string): Usage {
    return this.#callers.get(caller) ?? { runs: 0, bytes: 0 };
  }

  #count(caller: string, change: Usage): void {
    this.#total.runs += change.runs;
    this.#total.bytes += change.bytes;
    const before = this.#usageOf(caller);
    const usage = { runs: before.runs + change.runs, bytes: before.bytes + change.bytes };
    if (usage.runs > 0) this.#callers.set(caller, usage);
    else this.#callers.delete(caller);
  }
}

function counted(count: number, unit: string): string {
  return count === 1 ? `1 ${unit}` : `${count} ${unit}s`;
}
