// The clients that a served agent must get on with, under one interface: both SDKs, both eras, and our own.
import { Client, StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioClientTransportV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as HttpTransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport as TransportV1 } from '@modelcontextprotocol/sdk/shared/transport.js';
import { PocketAgentClient } from 'pocket-agent';
import { silent } from '../helpers.ts';

export interface Answer {
  isError?: boolean | undefined;
  content: { type: string; text?: string }[];
  structuredContent?: unknown;
  _meta?: Record<string, unknown> | undefined;
}

export interface SayOptions {
  signal?: AbortSignal;
  contextId?: string;
  conversationId?: string;
  onProgress?: (message: string | undefined) => void;
}

/** A client of a served agent. */
export interface Talker {
  toolNames(): Promise<string[]>;
  say(message: string, options?: SayOptions): Promise<Answer>;
  close(): Promise<void>;
}

export type Target = { url: string; token?: string } | { command: string; args: string[] };

export const clientKinds = ['SDK v1', 'SDK v2 in 2025', 'SDK v2 in 2026', 'PocketAgentClient'] as const;
export type ClientKind = (typeof clientKinds)[number];

/** Connects a client to an agent of the name Tester. */
export async function connect(kind: ClientKind, target: Target): Promise<Talker> {
  switch (kind) {
    case 'SDK v1':
      return connectV1(target);
    case 'SDK v2 in 2025':
      return connectV2(target, {});
    case 'SDK v2 in 2026':
      return connectV2(target, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
    case 'PocketAgentClient':
      return connectPocket(target);
  }
}

/** The id that comes with an answer of a new conversation. */
export function conversationIn(answer: Answer): string {
  const [, id] = /conversation_id: (\S+)/.exec(answer.content.at(-1)?.text ?? '') ?? [];
  if (!id) throw new Error(`No conversation_id in ${JSON.stringify(answer.content)}`);
  return id;
}

/** What the agent said, without the id of a new conversation. */
export function textOf(answer: Answer): string {
  const said = answer.content.filter(({ text }) => !text?.startsWith('[conversation_id: '));
  return said.map((block) => block.text ?? `[${block.type}]`).join('\n');
}

const TOOL = 'Tester-message';
const info = { name: 'tests', version: '1' };

const headersOf = (target: Target) =>
  'token' in target && target.token ? { requestInit: { headers: { authorization: `Bearer ${target.token}` } } } : {};

async function connectV1(target: Target): Promise<Talker> {
  const client = new ClientV1(info);
  const transport =
    'url' in target
      ? new HttpTransportV1(new URL(target.url), headersOf(target))
      : new StdioClientTransportV1({ ...target, stderr: 'ignore' });
  await client.connect(transport as TransportV1);
  return {
    toolNames: async () => (await client.listTools()).tools.map(({ name }) => name),
    say: (message, { signal, onProgress, ...call } = {}) =>
      client.callTool(callParams(message, call), undefined, {
        ...(signal ? { signal } : {}),
        ...(onProgress ? { onprogress: (update) => onProgress(update.message) } : {}),
      }) as Promise<Answer>,
    close: async () => {
      try {
        if (transport instanceof HttpTransportV1) await transport.terminateSession();
      } finally {
        await client.close();
      }
    },
  };
}

async function connectV2(target: Target, options: ConstructorParameters<typeof Client>[1]): Promise<Talker> {
  const client = new Client(info, options);
  const transport: Transport =
    'url' in target
      ? new StreamableHTTPClientTransport(new URL(target.url), headersOf(target))
      : new StdioClientTransport({ ...target, stderr: 'ignore' });
  await client.connect(transport);
  return {
    toolNames: async () => (await client.listTools()).tools.map(({ name }) => name),
    say: (message, { signal, onProgress, ...call } = {}) =>
      client.callTool(callParams(message, call), {
        ...(signal ? { signal } : {}),
        ...(onProgress ? { onprogress: (update) => onProgress(update.message) } : {}),
      }) as Promise<Answer>,
    close: async () => {
      try {
        if (transport instanceof StreamableHTTPClientTransport) await transport.terminateSession();
      } finally {
        await client.close();
      }
    },
  };
}

async function connectPocket(target: Target): Promise<Talker> {
  const entry = 'url' in target ? { url: target.url, ...headersFor(target.token) } : target;
  const client = new PocketAgentClient({ mcpConfig: { mcpServers: { agent: entry } }, logger: silent });
  await client.listTools();
  return {
    toolNames: async () => (await client.listTools()).map(({ name }) => name),
    say: (message, { signal, contextId, onProgress } = {}) =>
      client.callTool(
        TOOL,
        { message },
        {
          ...(signal ? { signal } : {}),
          ...(contextId ? { meta: { context_id: contextId } } : {}),
          ...(onProgress ? { progress: (update) => onProgress(update.message) } : {}),
        },
      ) as Promise<Answer>,
    close: () => client.close(),
  };
}

const headersFor = (token: string | undefined) => (token ? { headers: { authorization: `Bearer ${token}` } } : {});

function callParams(message: string, { contextId, conversationId }: SayOptions) {
  return {
    name: TOOL,
    arguments: { message, ...(conversationId ? { conversation_id: conversationId } : {}) },
    ...(contextId ? { _meta: { context_id: contextId } } : {}),
  };
}
