// Router options in LiteLLM's spelling (`model_list`, `model_name`, `litellm_params`), translated to ours.
import { configError, isRecord, type Logger, warnOnce, withoutUndefined } from '@pocket-agent/kit';

/** The options of LiteLLM's router that are understood. Times are in seconds. */
export interface LiteLlmRouterOptions {
  model_list: readonly { model_name: string; litellm_params: LiteLlmParams; model_info?: { id?: string } }[];
  routing_strategy?: string;
  num_retries?: number;
  allowed_fails?: number;
  cooldown_time?: number;
  fallbacks?: readonly Readonly<Record<string, readonly string[]>>[];
  context_window_fallbacks?: readonly Readonly<Record<string, readonly string[]>>[];
}

/** The settings of LiteLLM that a router understands in `litellm_params`. */
export interface LiteLlmParams {
  model: string;
  /** `os.environ/NAME` is read from the environment, in every setting. */
  api_key?: string;
  api_base?: string;
  api_version?: string;
  rpm?: number;
  tpm?: number;
  weight?: number;
  max_parallel_requests?: number;
  timeout?: number;
  extra_headers?: Readonly<Record<string, string>>;
  aws_region_name?: string;
  vertex_project?: string;
  vertex_location?: string;
  input_cost_per_token?: number;
  output_cost_per_token?: number;
}

type Options = Readonly<Record<string, unknown>>;
/** Our name of an option, and its value if it has another form. */
type Translation = readonly [name: string, convert?: (value: unknown) => unknown];

const milliseconds = (value: unknown) => (typeof value === 'number' ? value * 1_000 : value);
const joined = (value: unknown) => (Array.isArray(value) ? Object.assign({}, ...value) : value);

const strategies: Readonly<Record<string, string>> = {
  'simple-shuffle': 'weighted-shuffle',
  'least-busy': 'least-busy',
  'latency-based-routing': 'lowest-latency',
  'cost-based-routing': 'lowest-cost',
  'usage-based-routing': 'usage-based',
  'usage-based-routing-v2': 'usage-based',
};
const translatedStrategy = (value: unknown) =>
  typeof value === 'string' && Object.hasOwn(strategies, value) ? strategies[value] : value;

const routerNames: Readonly<Record<string, Translation>> = {
  model_list: ['models'],
  routing_strategy: ['strategy', translatedStrategy],
  num_retries: ['retries'],
  allowed_fails: ['allowedFailures'],
  cooldown_time: ['cooldownMs', milliseconds],
  context_window_fallbacks: ['contextWindowFallbacks', joined],
};
const entryNames: Readonly<Record<string, Translation>> = { model_name: ['modelName'], litellm_params: ['params'] };
const paramNames: Readonly<Record<string, Translation>> = {
  api_key: ['apiKey'],
  api_base: ['baseUrl'],
  base_url: ['baseUrl'],
  api_version: ['apiVersion'],
  max_parallel_requests: ['maxParallel'],
  timeout: ['timeoutMs', milliseconds],
  extra_headers: ['headers'],
  aws_region_name: ['region'],
  vertex_location: ['region'],
  vertex_project: ['project'],
};

/** The options in our spelling, and the names that were translated. The same object if there was nothing to translate. */
export function translateLiteLlm(given: object): { options: object; translated: readonly string[] } {
  const translated = new Set<string>();
  const options = rename({ ...given }, routerNames, translated);
  if (Array.isArray(options.fallbacks)) options.fallbacks = joined(options.fallbacks);
  if (Array.isArray(options.models)) {
    options.models = options.models.map((entry: unknown) =>
      isRecord(entry) ? translateEntry(entry, translated) : entry,
    );
  }
  return translated.size === 0 ? { options: given, translated: [] } : { options, translated: [...translated] };
}

/** Logs our names for the options, once for each logger. */
export function logOwnNames(given: object, logger: Logger): void {
  const { translated } = translateLiteLlm(given);
  if (translated.length === 0) return;
  const text = `Router: the options are in LiteLLM's spelling. Ours: ${translated.join(', ')}. Times are in milliseconds.`;
  warnOnce({ logger, about: logger, key: 'LiteLLM', text });
}

function translateEntry(entry: Options, translated: Set<string>): Options {
  const isLiteLlm = 'litellm_params' in entry;
  const { model_info: info, ...own } = rename(entry, entryNames, translated);
  if (!isLiteLlm) return entry;
  const { params } = own;
  const id = isRecord(info) ? info.id : undefined;
  return {
    ...own,
    params: isRecord(params) ? withoutUndefined({ id, ...translateParams(params, translated) }) : params,
  };
}

function translateParams(params: Options, translated: Set<string>): Options {
  const {
    input_cost_per_token: input,
    output_cost_per_token: output,
    ...others
  } = rename(params, paramNames, translated);
  const values = Object.fromEntries(
    Object.entries(others).map(([name, value]) => [name, fromEnvironment(value, name)]),
  );
  if (typeof input !== 'number' || typeof output !== 'number') return values;
  return { ...values, price: { input: input * 1e6, output: output * 1e6 } };
}

function rename(given: Options, names: Readonly<Record<string, Translation>>, translated: Set<string>) {
  const entries = Object.entries(given).map(([key, value]) => {
    const [name, convert] = Object.hasOwn(names, key) ? (names[key] ?? [key]) : [key];
    if (name !== key) translated.add(`${name} (${key})`);
    return [name, convert ? convert(value) : value];
  });
  return Object.fromEntries(entries) as Record<string, unknown>;
}

const VARIABLE = /^os\.environ\/(.+)$/;

function fromEnvironment(value: unknown, name: string): unknown {
  const variable = typeof value === 'string' ? VARIABLE.exec(value)?.[1] : undefined;
  if (variable === undefined) return value;
  const found = process.env[variable];
  if (found) return found;
  throw configError(`Router: ${name} is "os.environ/${variable}", and ${variable} is not set.`);
}
