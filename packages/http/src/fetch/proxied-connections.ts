// Connections through the proxy that the environment names, which the Agents of Node know how to ask.
import type { ClientRequest, Agent as HttpAgent } from 'node:http';
import type { Agent as HttpsAgent } from 'node:https';
import {
  type Connections,
  IDLE_MS,
  NOT_TO_THE_LAST_MS,
  noteRest,
  readTls,
  type Target,
  type TlsOptions,
} from './connections.ts';
import { nodeHttp, nodeHttps } from './node-http.ts';

export class ProxiedConnections implements Connections {
  areClosed = false;
  readonly #http: HttpAgent;
  readonly #https: HttpsAgent;

  constructor(tls: TlsOptions) {
    const pool = {
      keepAlive: true,
      agentKeepAliveTimeoutBuffer: NOT_TO_THE_LAST_MS,
      timeout: IDLE_MS,
      proxyEnv: process.env,
    };
    this.#http = notingRest(new (nodeHttp().Agent)(pool));
    this.#https = notingRest(new (nodeHttps().Agent)({ ...pool, ...readTls(tls) }));
  }

  request(
    { isSecure, host, port, path, lookup }: Target,
    method: string,
    headers: Readonly<Record<string, string>>,
  ): ClientRequest {
    const options = { host, port, path, method, headers, ...(lookup ? { lookup } : {}) };
    return isSecure
      ? nodeHttps().request({ ...options, agent: this.#https })
      : nodeHttp().request({ ...options, agent: this.#http });
  }

  close(): void {
    this.areClosed = true;
    this.#http.destroy();
    this.#https.destroy();
  }
}

function notingRest<Kind extends HttpAgent>(agent: Kind): Kind {
  const since = new WeakMap<object, number>();
  const { keepSocketAlive, reuseSocket } = agent;
  agent.keepSocketAlive = (socket) => {
    since.set(socket, performance.now());
    return keepSocketAlive.call(agent, socket);
  };
  agent.reuseSocket = (socket, request) => {
    noteRest(request, socket, since.get(socket) ?? 0);
    reuseSocket.call(agent, socket, request);
  };
  return agent;
}
