// The settings of a provider: those that are given, then those in the environment. Errors say what to set.
import {
  configError,
  httpUrlHint,
  nullable,
  nullableString,
  OptionSet,
  PocketError,
  secretStringMap,
  withoutUndefined,
} from '@pocket-agent/kit';
import type { KnownProvider, ProviderSetting } from './provider-table.ts';

/** For models given by name; a model object has its own settings. */
export interface ModelSettings {
  apiKey?: string;
  baseUrl?: string;
  headers?: Record<string, string>;
  /** Azure: the version of the API, for example 2024-10-21. */
  apiVersion?: string;
  /** Amazon Bedrock: the region. Google Vertex: the location. */
  region?: string;
  /** The project of Google Vertex. */
  project?: string;
}

export const modelSettings = new OptionSet<ModelSettings>('modelSettings', {
  apiKey: { ...nullableString, isSecret: true },
  baseUrl: nullableString,
  headers: { ...secretStringMap, ...nullable(secretStringMap.expected, secretStringMap.accepts) },
  apiVersion: nullableString,
  region: nullableString,
  project: nullableString,
});

/** The options for a provider package. */
export interface ProviderOptions {
  apiKey?: string;
  baseUrl?: string;
  headers?: Record<string, string>;
  /** By the names that the package gives them. */
  more: Readonly<Record<string, string>>;
  /** How to change the base URL. */
  urlAdvice: string;
}

interface Request {
  /** As the user wrote it. */
  model: string;
  settings: ModelSettings;
  /** Names the settings in errors. */
  where: string;
}

export function readProviderOptions(provider: KnownProvider, request: Request): ProviderOptions {
  const { settings, where } = request;
  const apiKey = settings.apiKey || variableValue(provider.keyVariables);
  const urlVariable = settings.baseUrl ? undefined : setIn(provider.urlVariables);
  const givenUrl = settings.baseUrl || (urlVariable && process.env[urlVariable]);
  if (givenUrl) checkBaseUrl(urlVariable ?? `${where}.baseUrl`, givenUrl);
  if (!apiKey) requireKey(provider, request);
  if (!givenUrl) requireAddress(provider, request);
  const baseUrl = givenUrl ? withPath(givenUrl, provider.apiPath) : provider.defaultBaseUrl;
  const urlAdvice = settings.baseUrl ? `correct ${where}.baseUrl` : `set ${urlVariable ?? provider.urlVariables[0]}`;
  const { headers } = settings;
  return {
    ...withoutUndefined({ apiKey, baseUrl, headers: headers ?? undefined }),
    more: apiKey && !provider.needsKey ? {} : moreSettings(provider, request),
    urlAdvice,
  };
}

/** The variable of the key that would be used, if one is set. */
export function keyVariable({ keyVariables, insteadOfKey }: KnownProvider): string | undefined {
  const instead = insteadOfKey?.every((variable) => process.env[variable]) ? insteadOfKey[0] : undefined;
  return setIn(keyVariables) ?? instead;
}

/** The first variable that must be set before models of the provider can be used; undefined if all are set. */
export function missingVariable(provider: KnownProvider): string | undefined {
  const { needsKey, keyVariables, addressVariable, urlVariables, settings = {} } = provider;
  const hasKey = keyVariable(provider) !== undefined;
  if (needsKey && !hasKey) return keyVariables[0];
  if (addressVariable && !setIn([addressVariable, ...urlVariables])) return addressVariable;
  if (hasKey && !needsKey) return undefined;
  return Object.values(settings).find(({ needed, variables }) => needed && !setIn(variables))?.variables[0];
}

/** Azure, Ollama and many proxies are given by their address without the path of the API. */
export function withPath(baseUrl: string, path: string | undefined): string {
  const url = new URL(baseUrl);
  return path && url.pathname === '/' ? new URL(path, url).href : baseUrl;
}

function requireKey(provider: KnownProvider, { model, where }: Request): void {
  if (!provider.needsKey || keyVariable(provider) !== undefined) return;
  const { keyVariables, insteadOfKey } = provider;
  const instead = insteadOfKey ? `, or set ${insteadOfKey.join(' and ')}` : '';
  const text = `Model "${model}" needs a key: set ${keyVariables.join(' or ')}, or pass ${where}.apiKey${instead}.`;
  throw new PocketError('MODEL_KEY_MISSING', text);
}

function requireAddress({ addressVariable }: KnownProvider, { model, where }: Request): void {
  if (!addressVariable || process.env[addressVariable]) return;
  const text = `Model "${model}" needs an address: set ${addressVariable} or ${where}.baseUrl.`;
  throw configError(text);
}

/** Our names of the settings that packages call by another name. */
const ownNames: Readonly<Record<string, keyof ModelSettings>> = {
  apiVersion: 'apiVersion',
  region: 'region',
  location: 'region',
  project: 'project',
};

function moreSettings(provider: KnownProvider, request: Request): Record<string, string> {
  const entries = Object.entries(provider.settings ?? {}).map(([name, setting]) => {
    const own = ownNames[name];
    const given = own && request.settings[own];
    return [name, given || variableValue(setting.variables) || setting.fallback || missing(setting, request, own)];
  });
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

function missing(
  { needed, variables }: ProviderSetting,
  { model, where }: Request,
  own: string | undefined,
): undefined {
  if (!needed) return undefined;
  const text = `Model "${model}" needs ${needed}: set ${variables[0]}, or pass ${where}.${own}.`;
  throw configError(text);
}

function checkBaseUrl(name: string, baseUrl: string): void {
  const instead = httpUrlHint(baseUrl);
  if (instead === undefined) return;
  throw configError(`${name} must be a whole URL such as "http://localhost:8000/v1", got "${baseUrl}". ${instead}`);
}

function setIn(variables: readonly string[]): string | undefined {
  return variables.find((variable) => process.env[variable]);
}

function variableValue(variables: readonly string[]): string | undefined {
  const variable = setIn(variables);
  return variable && process.env[variable];
}
