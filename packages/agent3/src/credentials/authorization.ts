// The credentials of a call: those the card asks for, and only to the host they are for.

import { CallFailure } from '../base/call-failure.ts';
import type { Credential, ListedAgent } from '../base/types.ts';
import { type Endpoint, endpointOf } from '../bridge/wire/endpoint.ts';
import type { Authorization } from '../bridge/wire/wire.ts';
import type { OAuthTokens } from './oauth-tokens.ts';
import { type Requirement, type Scheme, securityOf } from './security.ts';

interface AuthorizeOptions {
  agent: ListedAgent;
  endpoint: Endpoint;
  skillId?: string;
  credentials: readonly Credential[];
  tokens: OAuthTokens;
  /** Hosts that may be sent credentials without https. */
  isTrustedHost(url: URL): boolean;
  /** Told of everything that must not be seen anywhere, before it is sent. */
  conceal(secrets: string[]): void;
  signal: AbortSignal;
}

/** What of a credential must not be seen anywhere. */
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

export interface PlannedCredentials {
  sends: Credential['type'][];
  /** Why a call lacks what the card asks for, or registered credentials are not sent. */
  problem?: string;
}

/** What a call would send, by the rules by which it is sent. */
export function plannedCredentials(agent: ListedAgent, credentials: readonly Credential[]): PlannedCredentials {
  try {
    const endpoint = endpointOf(agent.card);
    const chosen = choose({ agent, endpoint, credentials });
    const problem = unsentReason(chosen, { agent, endpoint, credentials });
    return { sends: chosen.map(({ credential }) => credential.type), ...(problem ? { problem } : {}) };
  } catch (error) {
    if (!(error instanceof CallFailure)) throw error;
    return { sends: [], problem: error.message };
  }
}

type Chosen = { name: string; scheme: Scheme; credential: Credential; scopes: string[] };

export async function authorize(options: AuthorizeOptions): Promise<Authorization> {
  const chosen = choose(options);
  const { endpoint, isTrustedHost } = options;
  if (chosen.length > 0 && endpoint.url.protocol !== 'https:' && !isTrustedHost(endpoint.url))
    throw new CallFailure(
      'ADDRESS_REFUSED',
      'credentials are not sent over plain http. Its card must give an https address, or name its host in AGENT3_ALLOW_HOSTS.',
    );
  const unsent = unsentReason(chosen, options);
  return { ...(await apply(chosen, options, { mayRenew: true })), ...(unsent ? { unsent } : {}) };
}

type Choice = Pick<AuthorizeOptions, 'agent' | 'endpoint' | 'credentials' | 'skillId'>;

function choose({ agent, endpoint, credentials, skillId }: Choice): Chosen[] {
  const { schemes, alternatives, isDeclared } = securityOf(agent.card, skillId);
  const usable = credentials.filter((credential) => isFor(endpoint.url, credential, agent));
  if (!isDeclared) return undeclared(usable);
  for (const requirement of alternatives) {
    const chosen = satisfy(requirement, schemes, usable);
    if (chosen) return chosen;
  }
  const wanted = alternatives.map((requirement) => Object.keys(requirement).join(' and ')).join(', or ');
  const others =
    credentials.length > usable.length
      ? ` Credentials for another host than ${endpoint.url.host} are not sent there.`
      : '';
  throw new CallFailure(
    'AUTH_MISSING',
    `it wants ${wanted}, for which there are no credentials.${others} Register the agent with credentials for it.`,
  );
}

/** For a card without authentication: credentials registered for its host are meant to be sent. */
function undeclared(usable: readonly Credential[]): Chosen[] {
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
  const usable = credentials.filter((credential) => isFor(endpoint.url, credential, agent));
  if (usable.length === 0) return `they are registered for another host than ${endpoint.url.host}`;
  if (securityOf(agent.card, skillId).isDeclared) return 'they fit none of the schemes that its card names';
  return usable.some(({ type }) => type === 'apiKey')
    ? 'its card does not say where an API key goes; register a bearer token, or correct the card'
    : 'its card names no token address; register the OAuth client with its tokenUrl';
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
      // both are a token in the same header; where it comes from is a matter of ours
      return credential.type === 'oauth2' || credential.type === 'bearer';
    case 'other':
      // a card that lost what its scheme is: whoever named the scheme knows
      return credential.scheme !== undefined && credential.type !== 'apiKey';
    default:
      return credential.type === scheme.type;
  }
}

function isFor(url: URL, { host }: Credential, { cardUrl }: ListedAgent): boolean {
  if (host !== undefined) return host.toLowerCase() === url.host || host.toLowerCase() === url.hostname;
  return cardUrl === undefined || (URL.canParse(cardUrl) && new URL(cardUrl).host === url.host);
}

async function apply(
  chosen: readonly Chosen[],
  options: AuthorizeOptions,
  { mayRenew }: { mayRenew: boolean },
): Promise<Authorization> {
  const authorization: Authorization = { headers: {}, query: [], isSent: chosen.length > 0 };
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
        const token = await options.tokens.get(request, options.signal);
        options.conceal([token]);
        authorization.headers.authorization = `Bearer ${token}`;
        fetched.push(token);
      }
    }
  }
  if (Object.values(authorization.headers).some((value) => /[^\t -~\u0080-\u00ff]/.test(value)))
    throw new CallFailure('AUTH_MISSING', 'its credentials have characters that cannot be sent. Register them again.');
  if (!mayRenew || fetched.length === 0) return authorization;
  const renew = (signal: AbortSignal) => {
    for (const token of fetched) options.tokens.forget(token);
    return apply(chosen, { ...options, signal }, { mayRenew: false });
  };
  return { ...authorization, renew };
}

function pairOf({ username, password }: Credential & { type: 'basic' }): string {
  return Buffer.from(`${username}:${password}`).toString('base64');
}

/** Headers that say how a request is read; a card must not name one of them for a key. */
const framing =
  /^(?:host|connection|content-.*|transfer-encoding|te|trailer|upgrade|expect|accept.*|a2a-.*|keep-alive|cookie)$/i;

function putKey(key: string, scheme: Scheme, authorization: Authorization): void {
  if (scheme.type !== 'apiKey') return;
  const { place, name } = scheme;
  if (place === 'query') {
    authorization.query.push([name, key]);
    return;
  }
  if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name) || (place === 'header' && framing.test(name)))
    throw new CallFailure('PROTOCOL', 'its card wants a key where none can be. Ask its owner to correct the card.');
  if (place === 'header') authorization.headers[name.toLowerCase()] = key;
  else {
    const others = authorization.headers.cookie;
    authorization.headers.cookie = `${others ? `${others}; ` : ''}${name}=${key}`;
  }
}

/** The owner's own, or the card's when it is at the host the credentials are for: a card may lie. */
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
    'its card sends us to another host for a token. Register its credentials with the tokenUrl that is right.',
  );
}
