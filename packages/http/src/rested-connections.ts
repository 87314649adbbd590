// Which requests go over a connection that nothing was sent on for a while: its server may have ended it unheard.
import type { ClientRequest, Agent as HttpAgent } from 'node:http';

/** After so long without a request a server may have ended a connection. */
const REST_MS = 5;

const rested = new WeakSet<ClientRequest>();

export function hasRested(request: ClientRequest): boolean {
  return rested.has(request);
}

export function notingRest<Kind extends HttpAgent>(agent: Kind): Kind {
  const since = new WeakMap<object, number>();
  const { keepSocketAlive, reuseSocket } = agent;
  agent.keepSocketAlive = (socket) => {
    since.set(socket, performance.now());
    return keepSocketAlive.call(agent, socket);
  };
  agent.reuseSocket = (socket, request) => {
    if (performance.now() - (since.get(socket) ?? 0) > REST_MS) rested.add(request);
    reuseSocket.call(agent, socket, request);
  };
  return agent;
}
