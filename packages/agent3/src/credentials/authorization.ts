// Chooses the credentials of a call: those the card requires, and only for the host they are registered for.

import {
  A2aError,
  type Authorization,
  type Endpoint,
  endpointOf,
  type OAuthTokens,
  type Requirement,
  type Scheme,
  securityOf,
} from '@pocket-agent/a2a/client';
import type { Credential, ListedAgent } from '../base/agents.ts';
import { CallFailure, toFailure } from '../base/call-failure.ts';

interface AuthorizeOptions {
  agent: ListedAgent;
  endpoint: Endpoint;
  skillId?: string;
  credentials: readonly Credential[];
  tokens: OAuthTokens;
  /** Whether credentials may be sent to this host over plain http. */
  isTrustedHost(url: URL): boolean;
  /** Called with secrets before they are sent, so that they can be removed from answers and logs. */
  conceal(secrets: string[]): void;
  signal: AbortSignal;
}

/** The secret values of a credential. */
export function secretsOf(credential: Credential): string[] {
  switch (credential.type) {
    case 'apiKey':
      return [credential.key];
    case 'bearer':
      return [credential.token];
    case 'basic':
      return [credential.password, pairOf(credential)];
    case 'oauth2':
      return [credential.clientSecret];
  }
}

interface PlannedCredentials {
  sends: Credential['type'][];
  /** Why a required credential is missing, or why registered credentials are not sent. */
  problem?: string;
}

/** The credentials a call would send. */
export function plannedCredentials(agent: ListedAgent, credentials: readonly Credential[]): PlannedCredentials {
  try {
    const endpoint = endpointOf(agent.card);
    const chosen = chooseCredentials({ agent, endpoint, credentials });
    const problem = unsentReason(chosen, { agent, endpoint, credentials });
    return { sends: chosen.map(({ credential }) => credential.type), ...(problem ? { problem } : {}) };
  } catch (error) {
    if (!(error instanceof CallFailure)) throw error;
    return { sends: [], problem: error.message };
  }
}

interface SentCredentials {
  headers: Record<string, string>;
  query: [string, string][];
}

type Chosen = { name: string; scheme: Scheme; credential: Credential; scopes: string[] };

export async function authorize(options: AuthorizeOptions): Promise<Authorization> {
  const chosen = chooseCredentials(options);
  const { endpoint, isTrustedHost } = options;
  if (chosen.length > 0 && endpoint.url.protocol !== 'https:' && !isTrustedHost(endpoint.url))
    throw new CallFailure(
      'ADDRESS_REFUSED',
      'credentials are not sent over plain http. Give an https address in its card, or add its host to AGENT3_ALLOW_HOSTS.',
    );
  return apply(chosen, options, { mayRenew: true });
}

type Choice = Pick<AuthorizeOptions, 'agent' | 'endpoint' | 'credentials' | 'skillId'>;

function chooseCredentials({ agent, endpoint, credentials, skillId }: Choice): Chosen[] {
  const { schemes, alternatives, isDeclared } = securityOf(agent.card, skillId);
  const usable = credentials.filter((credential) => isForHost(endpoint.url, credential, agent));
  if (!isDeclared) return chooseUndeclared(usable);
  for (const requirement of alternatives) {
    const chosen = satisfy(requirement, schemes, usable);
    if (chosen) return chosen;
  }
  const required = alternatives.map((requirement) => Object.keys(requirement).join(' and ')).join(', or ');
  const others =
    credentials.length > usable.length ? ` Credentials for other hosts are not sent to ${endpoint.url.host}.` : '';
  throw new CallFailure(
    'AUTH_MISSING',
    `it requires ${required}, and no credentials are registered for that.${others} Register the agent with credentials.`,
  );
}

/** For a card that declares no scheme: send the credentials that were registered for its host. */
function chooseUndeclared(usable: readonly Credential[]): Chosen[] {
  const credential = usable.find(
    (each) =>
      each.type === 'bearer' || each.type === 'basic' || (each.type === 'oauth2' && each.tokenUrl !== undefined),
  );
  return credential ? [{ name: '', scheme: { type: 'other' }, credential, scopes: [] }] : [];
}

function unsentReason(
  chosen: readonly Chosen[],
  { agent, endpoint, credentials, skillId }: Choice,
): string | undefined {
  if (chosen.length > 0 || credentials.length === 0) return undefined;
  const usable = credentials.filter((credential) => isForHost(endpoint.url, credential, agent));
  if (usable.length === 0) return `they are not registered for the host ${endpoint.url.host}`;
  if (securityOf(agent.card, skillId).isDeclared) return 'they do not match any scheme in its card';
  return usable.some(({ type }) => type === 'apiKey')
    ? 'its card does not say where an API key goes; register a bearer token, or correct the card'
    : 'its card has no token URL; register the OAuth client with a tokenUrl';
}

function satisfy(
  requirement: Requirement,
  schemes: ReadonlyMap<string, Scheme>,
  credentials: readonly Credential[],
): Chosen[] | undefined {
  const chosen: Chosen[] = [];
  for (const [name, scopes] of Object.entries(requirement)) {
    const scheme = schemes.get(name) ?? { type: 'other' };
    const named = credentials.filter((credential) => credential.scheme === name);
    const unnamed = credentials.filter((credential) => credential.scheme === undefined);
    const credential = [...named, ...unnamed].find((credential) => fits(credential, scheme));
    if (!credential) return undefined;
    chosen.push({ name, scheme, credential, scopes });
  }
  return chosen;
}

function fits(credential: Credential, scheme: Scheme): boolean {
  switch (scheme.type) {
    case 'oauth2':
    case 'bearer':
      // both send a bearer token
      return credential.type === 'oauth2' || credential.type === 'bearer';
    case 'other':
      // the card does not say what this scheme is; the owner named it in the credential
      return credential.scheme !== undefined && credential.type !== 'apiKey';
    default:
      return credential.type === scheme.type;
  }
}

function isForHost(url: URL, { host }: Credential, { cardUrl }: ListedAgent): boolean {
  if (host !== undefined) return host.toLowerCase() === url.host || host.toLowerCase() === url.hostname;
  return cardUrl === undefined || (URL.canParse(cardUrl) && new URL(cardUrl).host === url.host);
}

async function apply(
  chosen: readonly Chosen[],
  options: AuthorizeOptions,
  { mayRenew }: { mayRenew: boolean },
): Promise<Authorization> {
  const authorization: SentCredentials = { headers: {}, query: [] };
  const fetched: string[] = [];
  for (const { scheme, credential, scopes } of chosen) {
    options.conceal(secretsOf(credential));
    switch (credential.type) {
      case 'apiKey':
        putKey(credential.key, scheme, authorization);
        break;
      case 'bearer':
        authorization.headers.authorization = `Bearer ${credential.token}`;
        break;
      case 'basic':
        authorization.headers.authorization = `Basic ${pairOf(credential)}`;
        break;
      case 'oauth2': {
        const tokenUrl = tokenUrlOf(credential, scheme, options);
        const request = { ...credential, tokenUrl, scopes: credential.scopes ?? scopes };
        const token = await options.tokens.get(request, options.signal).catch((error) => {
          throw error instanceof A2aError ? toFailure(error) : error;
        });
        options.conceal([token]);
        authorization.headers.authorization = `Bearer ${token}`;
        fetched.push(token);
      }
    }
  }
  if (Object.values(authorization.headers).some((value) => /[^\t -~\u0080-\u00ff]/.test(value)))
    throw new CallFailure(
      'AUTH_MISSING',
      'its credentials contain characters that HTTP headers cannot hold. Register them again.',
    );
  const refused = (status: number) => refusal(status, chosen, options);
  if (!mayRenew || fetched.length === 0) return { ...authorization, refused };
  const renew = (signal: AbortSignal) => {
    for (const token of fetched) options.tokens.forget(token);
    return apply(chosen, { ...options, signal }, { mayRenew: false });
  };
  return { ...authorization, refused, renew };
}

function refusal(status: number, chosen: readonly Chosen[], options: AuthorizeOptions): CallFailure {
  const details = { statusCode: status };
  if (chosen.length > 0)
    return new CallFailure(
      'AUTH_FAILED',
      `it refused the registered credentials (${status}). Register valid ones.`,
      details,
    );
  const unsent = unsentReason(chosen, options);
  const text =
    unsent === undefined
      ? 'and none are registered. Register the agent with credentials: agent3 register URL --token -, or credentials in agent3_register.'
      : `and the registered ones were not sent: ${unsent}.`;
  return new CallFailure('AUTH_MISSING', `it requires credentials (${status}), ${text}`, details);
}

function pairOf({ username, password }: Credential & { type: 'basic' }): string {
  return Buffer.from(`${username}:${password}`).toString('base64');
}

/** Headers that control how a request is read; a card must not name one of them for an API key. */
const reservedHeaders =
  /^(?:host|connection|content-.*|transfer-encoding|te|trailer|upgrade|expect|accept.*|a2a-.*|keep-alive|cookie)$/i;

function putKey(key: string, scheme: Scheme, authorization: SentCredentials): void {
  if (scheme.type !== 'apiKey') return;
  const { place, name } = scheme;
  if (place === 'query') {
    authorization.query.push([name, key]);
    return;
  }
  if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name) || (place === 'header' && reservedHeaders.test(name)))
    throw new CallFailure(
      'PROTOCOL',
      'its card names an invalid header or cookie for the API key. Ask its owner to correct the card.',
    );
  if (place === 'header') authorization.headers[name.toLowerCase()] = key;
  else {
    const cookies = authorization.headers.cookie;
    authorization.headers.cookie = `${cookies ? `${cookies}; ` : ''}${name}=${key}`;
  }
}

/** The registered URL, or that of the card if it has the origin of the endpoint: cards are not trusted. */
function tokenUrlOf(
  credential: Credential & { type: 'oauth2' },
  scheme: Scheme,
  { endpoint }: AuthorizeOptions,
): string {
  if (credential.tokenUrl !== undefined) return credential.tokenUrl;
  const offered = scheme.type === 'oauth2' ? scheme.tokenUrl : undefined;
  if (offered && URL.canParse(offered) && new URL(offered).origin === endpoint.url.origin) return offered;
  throw new CallFailure(
    'AUTH_MISSING',
    'its card names a token URL on another host. Register its credentials with the right tokenUrl.',
  );
}
