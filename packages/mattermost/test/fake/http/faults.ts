// Faults on command: which requests fail, and how.

export interface Fault {
  method?: string;
  /** Matched against path and query. */
  path?: RegExp;
  /** Only requests of this user, by name. Default: of all, also those of the test itself. */
  user?: string;
  /** Number of requests it hits. Default 1. */
  times?: number;
  /** Status of the response. */
  status?: number;
  headers?: Record<string, string>;
  /** A string is sent as is, other values as JSON. Default: an error in the format of Mattermost. */
  body?: unknown;
  /** Delay before the request is handled. */
  delayMs?: number;
  /** Called right before the request is handled. */
  meanwhile?: () => void;
  /** Breaks the connection before the response, after the headers, or within the body. */
  reset?: 'before' | 'headers' | 'mid-body';
  /** Sends the body in chunks over this time. */
  slowBodyMs?: number;
  /** The request takes effect and then fails. */
  afterHandling?: boolean;
  /** The request takes effect, then the server restarts: connections break, caches are lost. */
  restart?: boolean;
}

/** A registered fault: number of hits, and a function to remove it. */
export interface FaultHandle {
  readonly hits: number;
  cancel(): void;
}

interface FaultTarget {
  method: string;
  /** Path and query. */
  target: string;
  user: string | undefined;
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

  /** Takes the first matching fault and counts a hit. */
  take({ method, target, user }: FaultTarget): Fault | undefined {
    const entry = this.#set.find(
      ({ fault, left }) =>
        left > 0 &&
        (!fault.method || fault.method === method) &&
        (!fault.path || fault.path.test(target)) &&
        (!fault.user || fault.user === user),
    );
    if (!entry) return undefined;
    entry.left -= 1;
    entry.hits += 1;
    return entry.fault;
  }
}

/** The response of a fault with a status. */
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
