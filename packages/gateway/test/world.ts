// A gateway over HTTP with callers, in front of real servers; and the official clients of both SDKs.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as HttpTransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport as TransportV1 } from '@modelcontextprotocol/sdk/shared/transport.js';
import { expect, onTestFinished } from 'vitest';
import { silent } from '../../pocket-agent/test/helpers.ts';
import {
  type CallerSettings,
  Gateway,
  type GatewayListenOptions,
  type GatewayOptions,
  type GatewayState,
  openGatewayState,
} from '../src/index.ts';

const ends: (() => Promise<unknown> | unknown)[] = [];

/** Runs when the test has ended, the last first. A hook of this module would run for the first test file of a worker only. */
export function atEnd(end: () => Promise<unknown> | unknown): void {
  if (ends.length === 0) onTestFinished(cleanUp);
  ends.push(end);
}

async function cleanUp(): Promise<void> {
  for (const end of ends.splice(0).reverse()) await end();
}

export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'pocket-gateway-'));
  atEnd(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

export interface Served {
  url: string;
  state: GatewayState;
  gateway: Gateway;
  /** Adds a caller and returns the token. */
  caller(name: string, settings: CallerSettings): Promise<string>;
}

export async function served(options: GatewayOptions, listen: GatewayListenOptions = {}): Promise<Served> {
  const state = options.state ?? (await openGatewayState(':memory:'));
  const gateway = new Gateway({ logger: silent, ...options, state });
  atEnd(async () => {
    await gateway.close();
    if (!options.state) await state.close();
  });
  const { url } = await gateway.listen(listen);
  return { url, state, gateway, caller: (name, settings) => state.addCaller(name, settings) };
}

export const kinds = ['SDK v1', 'SDK v2 in 2025', 'SDK v2 in 2026'] as const;
export type Kind = (typeof kinds)[number];

const info = { name: 'tests', version: '1' };
const headersOf = (token: string) => ({ requestInit: { headers: { authorization: `Bearer ${token}` } } });

/** A client of SDK v2: one with handlers, or a new one. */
export async function clientV2(url: string, token: string, given: Client | ClientOptions = {}): Promise<Client> {
  const client = given instanceof Client ? given : new Client(info, given);
  await client.connect(new StreamableHTTPClientTransport(new URL(url), headersOf(token)));
  atEnd(() => client.close());
  return client;
}

export async function clientV1(url: string, token: string, capabilities: object = {}): Promise<ClientV1> {
  const client = new ClientV1(info, { capabilities });
  await client.connect(new HttpTransportV1(new URL(url), headersOf(token)) as TransportV1);
  atEnd(() => client.close());
  return client;
}

export const modern: ClientOptions = { versionNegotiation: { mode: { pin: '2026-07-28' } } };

export interface Answer {
  isError?: boolean | undefined;
  content: { type: string; text?: string }[];
}

/** What all clients have in common. */
export interface AnyClient {
  listTools(): Promise<{ tools: { name: string }[] }>;
  call(name: string, args?: Record<string, unknown>, options?: CallOptions): Promise<Answer>;
}

interface CallOptions {
  signal?: AbortSignal;
  meta?: Record<string, unknown>;
  onprogress?: (update: { progress: number; message?: string | undefined }) => void;
}

export async function connect(kind: Kind, url: string, token: string): Promise<AnyClient> {
  if (kind === 'SDK v1') {
    const client = await clientV1(url, token);
    return {
      listTools: () => client.listTools(),
      call: (name, args, { meta, ...options } = {}) =>
        client.callTool({ name, arguments: args, _meta: meta }, undefined, options) as Promise<Answer>,
    };
  }
  const client = await clientV2(url, token, kind === 'SDK v2 in 2026' ? modern : {});
  return {
    listTools: () => client.listTools(),
    call: (name, args, { meta, ...options } = {}) =>
      client.callTool(
        { name, ...(args ? { arguments: args } : {}), ...(meta ? { _meta: meta } : {}) },
        options,
      ) as Promise<Answer>,
  };
}

export const namesOf = async (client: Pick<AnyClient, 'listTools'>) =>
  (await client.listTools()).tools.map(({ name }) => name).sort();

export const textOf = ({ content }: Answer) => content.map(({ text }) => text).join('\n');

/** What a server answers to a request of 2026 that is sent without an SDK. */
export async function rawRequest(
  url: string,
  token: string,
  { method, params }: { method: string; params: { name: string; [key: string]: unknown } },
): Promise<{ result?: Record<string, unknown>; error?: { code: number; message: string } }> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': { elicitation: {}, sampling: {}, roots: {} },
  };
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      'mcp-name': params.name,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }),
  });
  return (await response.json()) as Awaited<ReturnType<typeof rawRequest>>;
}

/** A state saves no login of a caller who was removed. Callers of an issuer are not known to it. */
export async function expectLoginsOfKnownCallers(state: GatewayState): Promise<void> {
  const server = 'crm';
  await state.addCaller('ann', { profile: 'admin' });
  for (const caller of ['ann', 'oauth:ann']) {
    const place = { caller, server };
    await state.saveLogin(place, 'one');
    await state.saveLogin(place, 'two', 'other');
    expect(await state.login(place)).toBe('one');
    await state.saveLogin(place, 'two', 'one');
    await state.saveLogin(place, undefined, 'one');
    expect(await state.login(place)).toBe('two');
    expect(await state.logins()).toEqual([place]);
    expect(await state.removeCaller(caller)).toBe(true);
    expect(await state.removeCaller(caller)).toBe(false);
    expect(await state.login(place)).toBeUndefined();
  }
  await state.saveLogin({ caller: 'ann', server }, 'three');
  expect(await state.login({ caller: 'ann', server })).toBeUndefined();
}
