// An OAuth server under test, and the clients, users and browsers that log in.
import { createHash, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type Client,
  type OAuthClientInformationMixed,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type OAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { type RunningServer, readConfig, startHttp } from '@pocket-agent/mattermost';
import { expect, onTestFinished } from 'vitest';
import { type Era, newClient } from '../connect.ts';
import type { FakeMattermost, FakeOptions } from '../fake/fake-mattermost.ts';
import { fakeForTest, memoryLog } from '../resources.ts';

export const CALLBACK = 'http://localhost:7777/callback';

export interface World {
  fake: FakeMattermost;
  server: RunningServer;
  /** The public URL, which is the issuer. */
  origin: string;
  logLines: string[];
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export async function world(environment: Record<string, string> = {}, fakeOptions: FakeOptions = {}): Promise<World> {
  const fake = await fakeForTest(fakeOptions);
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const { clientId, clientSecret } = fake.oauthApp;
  fake.oauthApp.redirectUris = [`${origin}/oauth/callback/mm`];
  const config = readConfig({
    MATTERMOST_URL: fake.url,
    MATTERMOST_AUTH_MODE: 'oauth_proxy',
    MATTERMOST_OAUTH_CLIENT_ID: clientId,
    ...(clientSecret ? { MATTERMOST_OAUTH_CLIENT_SECRET: clientSecret } : { MATTERMOST_OAUTH_CLIENT_TYPE: 'public' }),
    MATTERMOST_OAUTH_MCP_PUBLIC_URL: origin,
    MCP_TRANSPORT: 'http',
    MCP_PORT: String(port),
    ...environment,
  });
  const { log, logLines } = memoryLog();
  const server = await startHttp({ ...config, backoffMs: 2 }, { log });
  onTestFinished(() => server.close());
  return { fake, server, origin, logLines };
}

/** A browser that keeps cookies, follows redirects and stops at the callback of the program. */
export class Browser {
  readonly cookies = new Map<string, string>();

  async open(url: string, init: RequestInit = {}): Promise<Response> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { ...(cookie ? { cookie } : {}), ...Object.fromEntries(new Headers(init.headers)) };
    const response = await fetch(url, { ...init, headers, redirect: 'manual' });
    for (const line of response.headers.getSetCookie()) {
      const [name = '', value = ''] = line.split(';', 1)[0]?.split('=') ?? [];
      this.cookies.set(name, value);
    }
    return response;
  }

  /** Follows redirects until a page or the callback. */
  async follow(start: string, init?: RequestInit): Promise<{ page?: string; status: number; back?: URL }> {
    let response = await this.open(start, init);
    for (;;) {
      const location = response.headers.get('location');
      if (location === null) return { page: await response.text(), status: response.status };
      if (location.startsWith(CALLBACK)) return { back: new URL(location), status: response.status };
      response = await this.open(location);
    }
  }

  /** Submits the consent page. */
  answer(origin: string, page: string, choice = 'allow', headers: Record<string, string> = { origin }) {
    const request = /name="request" value="([^"]+)"/.exec(page)?.[1] ?? '';
    return this.follow(`${origin}/oauth/consent`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      body: new URLSearchParams({ request, choice }).toString(),
    });
  }
}

/** The OAuth provider of an MCP client, with the user in front of it. */
export class Person implements OAuthClientProvider {
  readonly browser = new Browser();
  readonly origin: string;
  readonly redirectUrl = CALLBACK;
  readonly clientMetadata = { client_name: 'Test <b>client</b>', redirect_uris: [CALLBACK] };
  logins = 0;
  lastState = '';
  callback: URL | undefined;
  #client: OAuthClientInformationMixed | undefined;
  #tokens: OAuthTokens | undefined;
  #verifier = '';
  #discovery: OAuthDiscoveryState | undefined;

  constructor(origin: string) {
    this.origin = origin;
  }

  state() {
    this.lastState = randomBytes(8).toString('hex');
    return this.lastState;
  }

  clientInformation() {
    return this.#client;
  }

  saveClientInformation(client: OAuthClientInformationMixed) {
    this.#client = client;
  }

  tokens() {
    return this.#tokens;
  }

  saveTokens(tokens: OAuthTokens) {
    this.#tokens = tokens;
  }

  saveCodeVerifier(verifier: string) {
    this.#verifier = verifier;
  }

  codeVerifier() {
    return this.#verifier;
  }

  saveDiscoveryState(state: OAuthDiscoveryState) {
    this.#discovery = state;
  }

  discoveryState() {
    return this.#discovery;
  }

  async redirectToAuthorization(url: URL) {
    this.logins++;
    let step = await this.browser.follow(url.href);
    if (step.page?.includes('name="request"')) step = await this.browser.answer(this.origin, step.page);
    this.callback = step.back;
  }
}

export async function logIn({ server, origin }: World, era: Era = '2026'): Promise<{ person: Person; client: Client }> {
  const person = new Person(origin);
  const url = new URL(server.url);
  const first = new StreamableHTTPClientTransport(url, { authProvider: person });
  const client = newClient(era);
  onTestFinished(() => client.close());
  await expect(client.connect(first)).rejects.toBeInstanceOf(UnauthorizedError);
  expect(person.callback?.searchParams.get('state')).toBe(person.lastState);
  await first.finishAuth(person.callback?.searchParams ?? new URLSearchParams());
  await client.connect(new StreamableHTTPClientTransport(url, { authProvider: person }));
  return { person, client };
}

interface Body {
  client_id: string;
  access_token: string;
  refresh_token: string;
  error?: string;
}

async function answerOf(response: Response): Promise<{ status: number; body: Body }> {
  return { status: response.status, body: (await response.json()) as Body };
}

export async function register(origin: string, metadata: object = { redirect_uris: [CALLBACK] }) {
  const response = await fetch(`${origin}/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(metadata),
  });
  return answerOf(response);
}

export const pkce = () => {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
};

export function authorizeUrl(origin: string, parameters: Record<string, string>): string {
  const usual = { response_type: 'code', redirect_uri: CALLBACK, code_challenge_method: 'S256', state: 'abc' };
  return `${origin}/authorize?${new URLSearchParams({ ...usual, ...parameters })}`;
}

export async function token(origin: string, fields: Record<string, string>) {
  const response = await fetch(`${origin}/token`, { method: 'POST', body: new URLSearchParams(fields) });
  return answerOf(response);
}

/** An authorization code with everything needed to redeem it. */
export async function obtainCode({ origin }: World, registered?: string) {
  const clientId = registered ?? (await register(origin)).body.client_id;
  const { verifier, challenge } = pkce();
  const browser = new Browser();
  const { page = '' } = await browser.follow(authorizeUrl(origin, { client_id: clientId, code_challenge: challenge }));
  const { back } = await browser.answer(origin, page);
  const code = back?.searchParams.get('code') ?? '';
  return {
    grant_type: 'authorization_code',
    code,
    client_id: clientId,
    redirect_uri: CALLBACK,
    code_verifier: verifier,
  };
}

export const listTools = { jsonrpc: '2.0', id: 1, method: 'tools/list' };

export function call(server: RunningServer, bearer?: string, { session = '', message = listTools } = {}) {
  return fetch(server.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
      ...(session === '' ? {} : { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' }),
    },
    body: JSON.stringify(message),
  });
}
