// Exports the spans and metrics of a program if OTEL_EXPORTER_OTLP_ENDPOINT is set and the SDK of OpenTelemetry is
// installed. All settings are environment variables of the SDK.
import { once } from 'node:events';
import { settlesWithin } from '../base/abort.ts';
import { errorText } from '../base/errors.ts';
import { hasTelemetry } from './telemetry.ts';

const ENDPOINTS = [
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT',
];
const PACKAGES = '@opentelemetry/api @opentelemetry/sdk-node';
/** How long a program waits for the collector before it ends. */
const FLUSH_MS = 2_000;
/** How long it then waits for a connection, to say why nothing was exported. */
const CONNECT_MS = 500;
/** Errors of the SDK may contain a stack trace. */
const MAX_REPORT = 300;

interface Sdk {
  shutdown(): Promise<void>;
}

/** Runs a program, and exports its spans and metrics if an endpoint is set. `name`: the default of `OTEL_SERVICE_NAME`. */
export async function withExport<Value>(name: string, program: () => Promise<Value>): Promise<Value> {
  const endpoint = ENDPOINTS.find((variable) => process.env[variable]);
  const isOff = process.env.OTEL_SDK_DISABLED?.toLowerCase() === 'true';
  // an SDK that was preloaded with --import is already registered
  const sdk = endpoint && !isOff && !hasTelemetry() ? await startSdk(name, endpoint) : undefined;
  try {
    return await program();
  } finally {
    if (sdk && endpoint) await flush(name, sdk, endpoint);
  }
}

async function flush(name: string, sdk: Sdk, endpoint: string): Promise<void> {
  let problem: string | undefined;
  const sent = sdk.shutdown().catch((error: unknown) => {
    problem = errorText(error);
    throw error;
  });
  const isSent = await settlesWithin(FLUSH_MS, sent).catch(() => false);
  if (isSent) return;
  const address = process.env[endpoint] ?? '';
  problem ??= (await connectProblem(address)) ?? `nothing answered within ${FLUSH_MS} ms`;
  report(name, `the last spans and metrics were not exported to ${withoutSecrets(address)} (${endpoint}): ${problem}`);
}

/** Why there is no connection to the collector: the SDK tries again and again, and keeps the reason to itself. */
async function connectProblem(address: string): Promise<string | undefined> {
  const { hostname, port, protocol } = URL.canParse(address) ? new URL(address) : {};
  if (!hostname) return undefined;
  const { connect } = await import('node:net');
  const host = hostname.replace(/^\[|\]$/g, '');
  const socket = connect({ host, port: Number(port) || (protocol === 'https:' ? 443 : 80) });
  const signal = AbortSignal.timeout(CONNECT_MS);
  try {
    await once(socket, 'connect', { signal });
    return undefined;
  } catch (error) {
    return signal.aborted ? `no connection within ${CONNECT_MS} ms` : errorText(error);
  } finally {
    socket.destroy();
  }
}

/** Without a name and a password, and without a key in the query. */
function withoutSecrets(address: string): string {
  if (!URL.canParse(address)) return address;
  const { protocol, host } = new URL(address);
  return host ? `${protocol}//${host}` : address;
}

function report(name: string, text: string): void {
  process.stderr.write(`${name}: ${text}\n`);
}

async function startSdk(name: string, endpoint: string): Promise<Sdk | undefined> {
  const { env } = process;
  env.OTEL_SERVICE_NAME ??= name;
  // without "process": the arguments of a command may be a question
  env.OTEL_NODE_RESOURCE_DETECTORS ??= 'env,host,os,serviceinstance';
  try {
    const [{ diag, DiagLogLevel }, { NodeSDK }] = await Promise.all([
      import('@opentelemetry/api'),
      import('@opentelemetry/sdk-node'),
    ]);
    const sdk = new NodeSDK({ logRecordProcessors: [] });
    // the SDK would log to the console, but stdout may carry a protocol
    const write = (...parts: unknown[]) => {
      const text = parts.map((part) => (typeof part === 'string' ? part : errorText(part))).join(': ');
      report(name, `OpenTelemetry: ${text.slice(0, MAX_REPORT)}`);
    };
    const logger = { error: write, warn: write, info: write, debug: write, verbose: write };
    const level: unknown = Reflect.get(DiagLogLevel, env.OTEL_LOG_LEVEL?.toUpperCase() ?? 'WARN');
    const logLevel = typeof level === 'number' ? level : DiagLogLevel.WARN;
    diag.setLogger(logger, { logLevel, suppressOverrideMessage: true });
    sdk.start();
    return sdk;
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND';
    const reason = isMissing ? `the SDK is not installed: npm install ${PACKAGES}` : errorText(error);
    report(name, `${endpoint} is set, but nothing is exported: ${reason}`);
    return undefined;
  }
}
