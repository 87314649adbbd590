// Spans and metrics through the API of OpenTelemetry. They are on if the application has registered a provider. Without
// one nothing is loaded, and work is called as it is.
import type * as Api from '@opentelemetry/api';
import { errorText } from '../base/errors.ts';
import { isRecord, withoutUndefined } from '../base/records.ts';
import { redactSecrets } from '../base/redaction.ts';

export type AttributeValue = string | number | boolean | readonly string[];
/** Undefined values are left out. */
export type SpanAttributes = Readonly<Record<string, AttributeValue | undefined>>;

/** Trace context between processes, as HTTP headers and `_meta` of MCP carry it. */
export type TraceHeaders = Readonly<Record<string, unknown>>;

export interface SpanRequest {
  name: string;
  kind?: 'internal' | 'client' | 'server';
  attributes: SpanAttributes;
  /** What a remote caller sent: its span is the parent, and the span around this code is linked. */
  from?: TraceHeaders | undefined;
  /** Whether the message of an error may be shown, which may quote what users and tools wrote. */
  showsErrors?: boolean;
}

export interface CurrentSpan {
  set(attributes: SpanAttributes): void;
  event(name: string, attributes?: SpanAttributes): void;
  /** `type`: a short word or code, the same for all errors of a kind. */
  fail(type: string, message?: string): void;
}

export interface OpenSpan extends CurrentSpan {
  /** Calls `work` with this span around it. */
  within<Value>(work: () => Value): Value;
  end(): void;
}

const SCOPE = 'pocket-agent';
/** Where every copy of the API finds what the application registered. */
const REGISTRY = Symbol.for('opentelemetry.js.api.1');
const globals: typeof globalThis & { [REGISTRY]?: unknown } = globalThis;

let api: typeof Api | undefined;
let loading: Promise<void> | undefined;

/** Whether the application has registered a provider of spans or metrics. */
export function hasTelemetry(): boolean {
  const registry = globals[REGISTRY];
  return isRecord(registry) && (registry.trace !== undefined || registry.metrics !== undefined);
}

/** The API, if it is loaded and a provider is registered. */
function loaded(): typeof Api | undefined {
  return api && hasTelemetry() ? api : undefined;
}

/** Loads the API at first use. Undefined if there is nothing to wait for. */
export function loadTelemetry(): Promise<void> | undefined {
  if (api || !hasTelemetry()) return undefined;
  loading ??= loadApi();
  return loading;
}

async function loadApi(): Promise<void> {
  try {
    api = await import('@opentelemetry/api'); // within `try`, because bundlers then accept a missing package
  } catch (error) {
    const text = `No spans: the application registered a provider, but @opentelemetry/api cannot be loaded from here`;
    process.emitWarning(`${text}: ${errorText(error)}. npm install @opentelemetry/api`);
  }
}

/** Calls `work` with a span that ends with it; with undefined if there is no provider. */
export function inSpan<Value>(
  request: () => SpanRequest,
  work: (span: CurrentSpan | undefined) => Promise<Value>,
): Promise<Value> {
  return hasTelemetry() ? inNewSpan(request, work) : work(undefined);
}

async function inNewSpan<Value>(
  request: () => SpanRequest,
  work: (span: CurrentSpan | undefined) => Promise<Value>,
): Promise<Value> {
  await loadTelemetry();
  const requested = request();
  const span = startSpan(requested);
  if (!span) return work(undefined);
  try {
    return await span.within(() => work(span));
  } catch (error) {
    span.fail(errorTypeOf(error), requested.showsErrors ? errorText(error) : undefined);
    throw error;
  } finally {
    span.end();
  }
}

/** For work that ends elsewhere, such as a stream. Undefined without a provider, and before `loadTelemetry`. */
export function startSpan({ name, kind = 'internal', attributes, from }: SpanRequest): OpenSpan | undefined {
  const otel = loaded();
  if (!otel) return undefined;
  const { parent, links } = parentOf(otel, from);
  const kinds = { internal: otel.SpanKind.INTERNAL, client: otel.SpanKind.CLIENT, server: otel.SpanKind.SERVER };
  const options = { kind: kinds[kind], attributes: readable(attributes), links };
  const span = otel.trace.getTracer(SCOPE).startSpan(name, options, parent);
  const around = otel.trace.setSpan(parent, span);
  return { ...handle(otel, span), within: (work) => otel.context.with(around, work), end: () => span.end() };
}

/** The span around the current code. */
export function currentSpan(): CurrentSpan | undefined {
  const otel = loaded();
  const span = otel?.trace.getActiveSpan();
  return otel && span && handle(otel, span);
}

function handle(otel: typeof Api, span: Api.Span): CurrentSpan {
  return {
    set: (attributes) => void span.setAttributes(readable(attributes)),
    event: (name, attributes = {}) => void span.addEvent(name, readable(attributes)),
    fail: (type, message) => {
      span.setAttribute('error.type', type);
      const shown = message === undefined ? {} : { message: redactSecrets(message.slice(0, MAX_MESSAGE)) };
      span.setStatus({ code: otel.SpanStatusCode.ERROR, ...shown });
    },
  };
}

const MAX_MESSAGE = 2_000;

function parentOf(otel: typeof Api, from: TraceHeaders | undefined): { parent: Api.Context; links: Api.Link[] } {
  const ambient = otel.context.active();
  const around = otel.trace.getSpanContext(ambient);
  const headers = Object.entries(from ?? {}).filter(([, value]) => typeof value === 'string');
  const parent = headers.length > 0 ? otel.propagation.extract(ambient, Object.fromEntries(headers)) : ambient;
  const isElsewhere = around && otel.trace.getSpanContext(parent)?.spanId !== around.spanId;
  return { parent, links: isElsewhere ? [{ context: around }] : [] };
}

/** Headers that make spans of a remote server children of the current one. Empty without a provider. */
export function traceHeaders(): Record<string, string> {
  const headers: Record<string, string> = {};
  const otel = loaded();
  otel?.propagation.inject(otel.context.active(), headers);
  return headers;
}

/** Whether the span around the current code belongs to the trace of a `traceparent`. */
export function isInTrace(traceparent: string): boolean {
  const otel = loaded();
  const traceId = otel?.trace.getSpanContext(otel.context.active())?.traceId;
  return traceId !== undefined && traceparent.includes(traceId);
}

export interface Metric {
  name: string;
  /** As UCUM writes it: `s`, `{token}`. */
  unit: string;
  description: string;
  /** Boundaries of the buckets, in ascending order. */
  buckets: readonly number[];
}

/** The histograms of each provider; tests register several, one after another. */
const histograms = new WeakMap<Api.MeterProvider, Map<string, Api.Histogram>>();

/** Records a value of a histogram. Does nothing without a provider of metrics. */
export function recordValue(metric: Metric, value: number, attributes: SpanAttributes): void {
  const provider = loaded()?.metrics.getMeterProvider();
  if (!provider) return;
  const known = histograms.get(provider) ?? new Map<string, Api.Histogram>();
  histograms.set(provider, known);
  const histogram = known.get(metric.name) ?? newHistogram(provider, metric);
  known.set(metric.name, histogram);
  histogram.record(value, readable(attributes));
}

function newHistogram(provider: Api.MeterProvider, { name, unit, description, buckets }: Metric): Api.Histogram {
  const advice = { explicitBucketBoundaries: [...buckets] };
  return provider.getMeter(SCOPE).createHistogram(name, { unit, description, advice });
}

/** The value of `error.type`: the code of the error, or else its name. */
export function errorTypeOf(error: unknown): string {
  if (!(error instanceof Error)) return '_OTHER';
  const code: unknown = 'code' in error ? error.code : undefined;
  return typeof code === 'string' || typeof code === 'number' ? String(code) : error.name;
}

/** As the API takes them. */
function readable(attributes: SpanAttributes): Api.Attributes {
  return withoutUndefined(attributes) as Api.Attributes;
}
