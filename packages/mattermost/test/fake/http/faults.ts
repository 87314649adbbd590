// Faults on command: which request goes wrong, and how.

export interface Fault {
  method?: string;
  /** Tested against path and query. */
  path?: RegExp;
  /** How many requests it hits; 1 unless told. */
  times?: number;
  /** Answers with this instead of the true answer. */
  status?: number;
  headers?: Record<string, string>;
  /** Text as it is, anything else as JSON; Mattermost's error shape unless told. */
  body?: unknown;
  /** Waits before anything else. */
  delayMs?: number;
  /** What others do right before the request is handled. */
  meanwhile?: () => void;
  /** Ends the connection: before any answer, after the headers, or in the middle of the body. */
  reset?: 'before' | 'headers' | 'mid-body';
  /** Sends the body in pieces over this time. */
  slowBodyMs?: number;
  /** The request takes effect first, and fails then. */
  afterHandling?: boolean;
  /** The request takes effect, then the server is killed and starts again: the connection ends, memory is lost. */
  restart?: boolean;
}

/** A fault that was set: how often it has struck, and how to end it. */
export interface FaultHandle {
  readonly hits: number;
  cancel(): void;
}

export class Faults {
  readonly #set: { fault: Fault; left: number; hits: number }[] = [];

  add(fault: Fault): FaultHandle {
    const entry = { fault, left: fault.times ?? 1, hits: 0 };
    this.#set.push(entry);
    return {
      get hits() {
        return entry.hits;
      },
      cancel: () => {
        entry.left = 0;
      },
    };
  }

  /** The first fault set that fits, used up by one. */
  take(method: string, target: string): Fault | undefined {
    const entry = this.#set.find(
      ({ fault, left }) =>
        left > 0 && (!fault.method || fault.method === method) && (!fault.path || fault.path.test(target)),
    );
    if (!entry) return undefined;
    entry.left -= 1;
    entry.hits += 1;
    return entry.fault;
  }
}

/** What a fault with a status answers. */
export function faultReply(fault: Fault & { status: number }, requestId: string) {
  const limited = fault.status === 429;
  const headers: Record<string, string> = limited
    ? { 'X-Ratelimit-Limit': '11', 'X-Ratelimit-Remaining': '0', 'X-Ratelimit-Reset': '1' }
    : {};
  const usual = limited
    ? 'limit exceeded\n'
    : {
        id: 'fake.fault.app_error',
        message: `Fault ${fault.status} on command.`,
        detailed_error: '',
        request_id: requestId,
        status_code: fault.status,
      };
  return { status: fault.status, headers: { ...headers, ...fault.headers }, body: fault.body ?? usual };
}
