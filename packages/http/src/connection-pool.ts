// The connections of a fetch: kept after an exchange, and all of them ended by `close`.
/// <reference path="./undici.d.ts" />
import type { Socket } from 'node:net';
import type { buildConnector, Dispatcher, EnvHttpProxyAgent } from 'undici';
import makeConnector from 'undici/lib/core/connect.js';
import Agent from 'undici/lib/dispatcher/agent.js';
import type { FetchOptions } from './fetch.ts';
import { lookupPublic } from './public-address.ts';

/** A connection that nobody uses is ended after this long, or earlier if its server says so. */
const IDLE_MS = 30_000;

export interface ConnectionPool {
  /** To any address. */
  free: Dispatcher;
  /** To those that belong to everybody. */
  guarded: Dispatcher;
  close(): void;
}

export async function openPool({ guard, tls = {}, maxConnections }: FetchOptions): Promise<ConnectionPool> {
  const { ca, rejectUnauthorized = true } = tls;
  const security = { rejectUnauthorized, ...(ca ? { ca: [...[ca].flat()] } : {}) };
  const connecting = new Set<Socket>();
  const connections = maxConnections === undefined ? {} : { connections: maxConnections };
  // how long an answer may take is for the exchange to say
  const common = { headersTimeout: 0, bodyTimeout: 0, keepAliveTimeout: IDLE_MS, ...connections };
  const toAny = { ...common, connect: tracked(makeConnector(security), connecting) };
  // a proxy looks names up by itself, so it is no way out where addresses are checked
  const usesProxy = guard === 'none' && process.env.NODE_USE_ENV_PROXY === '1';
  const free = usesProxy ? await throughProxy({ ...toAny, requestTls: security }) : new Agent(toAny);
  const connect = tracked(makeConnector({ ...security, lookup: lookupPublic }), connecting);
  const guarded = new Agent({ ...common, connect });
  return {
    free,
    guarded,
    close() {
      for (const dispatcher of [free, guarded]) void dispatcher.destroy();
      for (const socket of connecting) socket.destroy();
    },
  };
}

/** Agents to proxies need the whole of undici. */
async function throughProxy(options: EnvHttpProxyAgent.Options): Promise<Dispatcher> {
  const undici = await import('undici');
  return new undici.EnvHttpProxyAgent(options);
}

/** undici ends what is connected, and waits for what is not yet. */
function tracked(connector: buildConnector.connector, connecting: Set<Socket>): buildConnector.connector {
  return (options, callback) => {
    // it gives the socket back, which its types do not say
    const socket = connector(options, (...outcome) => {
      connecting.delete(socket);
      callback(...outcome);
    }) as unknown as Socket;
    connecting.add(socket);
  };
}
