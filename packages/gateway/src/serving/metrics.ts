// What a gateway counts, as text for Prometheus. Labels are names of the configuration, so their number is limited.
import type { CallRecord } from 'pocket-agent/internal/gate';

const BUCKETS_S = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60];

interface ServerCounts {
  /** Calls by decision and outcome. */
  calls: Map<string, number>;
  /** Calls by duration: how many took at most the time of each bucket. */
  buckets: number[];
  seconds: number;
  count: number;
}

export class Metrics {
  readonly #servers = new Map<string, ServerCounts>();
  /** Calls in progress. */
  active = 0;

  /** A call has ended. `server` is a server of the gateway, or `unknown`. */
  called(
    server: string,
    { decision, outcome, durationMs }: Pick<CallRecord, 'decision' | 'outcome' | 'durationMs'>,
  ): void {
    const counts = this.#servers.get(server) ?? newCounts();
    this.#servers.set(server, counts);
    const key = `decision="${decision}",outcome="${outcome}"`;
    counts.calls.set(key, (counts.calls.get(key) ?? 0) + 1);
    const seconds = durationMs / 1_000;
    BUCKETS_S.forEach((most, index) => {
      if (seconds <= most) counts.buckets[index] = (counts.buckets[index] ?? 0) + 1;
    });
    counts.seconds += seconds;
    counts.count++;
  }

  text(servers: readonly { name: string; isMissing: boolean }[]): string {
    const lines = [
      ...family('gateway_calls_total', 'counter', 'Tool calls, by server, decision and outcome', this.#calls()),
      ...family('gateway_call_seconds', 'histogram', 'Time of tool calls', this.#durations()),
      ...family('gateway_calls_in_progress', 'gauge', 'Tool calls in progress', [
        `gateway_calls_in_progress ${this.active}`,
      ]),
      ...family(
        'gateway_server_up',
        'gauge',
        'Whether a server is available, as far as known',
        servers.map(({ name, isMissing }) => `gateway_server_up{server="${name}"} ${isMissing ? 0 : 1}`),
      ),
    ];
    return `${lines.join('\n')}\n`;
  }

  #calls(): string[] {
    return [...this.#servers].flatMap(([server, { calls }]) =>
      [...calls].map(([labels, count]) => `gateway_calls_total{server="${server}",${labels}} ${count}`),
    );
  }

  #durations(): string[] {
    return [...this.#servers].flatMap(([server, { buckets, seconds, count }]) => [
      ...BUCKETS_S.map(
        (most, index) => `gateway_call_seconds_bucket{server="${server}",le="${most}"} ${buckets[index] ?? 0}`,
      ),
      `gateway_call_seconds_bucket{server="${server}",le="+Inf"} ${count}`,
      `gateway_call_seconds_sum{server="${server}"} ${seconds}`,
      `gateway_call_seconds_count{server="${server}"} ${count}`,
    ]);
  }
}

function newCounts(): ServerCounts {
  return { calls: new Map(), buckets: [], seconds: 0, count: 0 };
}

function family(name: string, type: string, help: string, samples: readonly string[]): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...samples];
}
