// An application that collects the spans and metrics of one test.
import { context, metrics, propagation, SpanKind, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { onTestFinished } from 'vitest';

export interface Collector {
  spans(): ReadableSpan[];
  /** The only span whose name begins like this. */
  span(name: string): ReadableSpan;
  /** Names, indented below their parents, in the order in which they began. */
  tree(): string[];
  /** Values by name: the sum of the counts or values, with their attributes. */
  metrics(): Promise<{ name: string; unit: string; attributes: object; count: number; sum: number }[]>;
}

/** Registers providers as an application does, until the test ends. */
export function collect(): Collector {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
  const metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter: metricExporter, exportIntervalMillis: 3_600_000 });
  const meterProvider = new MeterProvider({ readers: [reader] });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const propagators = [new W3CTraceContextPropagator(), new W3CBaggagePropagator()];
  propagation.setGlobalPropagator(new CompositePropagator({ propagators }));
  trace.setGlobalTracerProvider(provider);
  metrics.setGlobalMeterProvider(meterProvider);
  onTestFinished(async () => {
    for (const part of [trace, metrics, propagation, context]) part.disable();
    await Promise.all([provider.shutdown(), meterProvider.shutdown()]);
  });
  const spans = () => exporter.getFinishedSpans();
  return {
    spans,
    span: (name) => {
      const found = spans().filter((each) => each.name.startsWith(name));
      if (found.length !== 1 || !found[0]) throw new Error(`${found.length} spans are called "${name}".`);
      return found[0];
    },
    tree: () => treeOf(spans()),
    metrics: async () => {
      await meterProvider.forceFlush();
      const last = metricExporter.getMetrics().at(-1);
      return (last?.scopeMetrics ?? []).flatMap(({ metrics: all }) =>
        all.flatMap(({ descriptor: { name, unit }, dataPoints }) =>
          dataPoints.map(({ attributes, value }) => {
            const { count, sum = 0 } = value as { count: number; sum?: number };
            return { name, unit, attributes, count, sum };
          }),
        ),
      );
    },
  };
}

function treeOf(spans: readonly ReadableSpan[]): string[] {
  const time = ({ startTime: [seconds, nanos] }: ReadableSpan) => seconds * 1e9 + nanos;
  const sorted = spans.toSorted((one, other) => time(one) - time(other));
  const ids = new Set(sorted.map((span) => span.spanContext().spanId));
  const below = (parent: string | undefined, indent: string): string[] =>
    sorted
      .filter(({ parentSpanContext: around }) =>
        parent === undefined ? !around || !ids.has(around.spanId) : around?.spanId === parent,
      )
      .flatMap((span) => [`${indent}${span.name}`, ...below(span.spanContext().spanId, `${indent}  `)]);
  return below(undefined, '');
}

export const kindOf = ({ kind }: ReadableSpan) => SpanKind[kind];

/** Everything that leaves the process with the spans. */
export function textOfSpans(spans: readonly ReadableSpan[]): string {
  return JSON.stringify(
    spans.map(({ name, attributes, events, status }) => ({
      name,
      attributes,
      status,
      events: events.map((event) => ({ name: event.name, attributes: event.attributes })),
    })),
  );
}
