// An agent on the official A2A SDK 1.x: JSON-RPC in 1.0, with streaming.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { AgentCard, StreamResponse } from '@a2a-js/sdk';
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  InMemoryTaskStore,
  JsonRpcTransportHandler,
  ServerCallContext,
} from '@a2a-js/sdk/server';
import { untilStopped } from './until-stopped.ts';

const forecasts = ['sunny, 24 °C', 'rain, 13 °C', 'windy, 17 °C', 'snow, -2 °C'];

const executor: AgentExecutor = {
  async execute({ userMessage, taskId, contextId }, bus) {
    const words = userMessage.parts
      .flatMap(({ content }) => (content?.$case === 'text' ? [content.value] : []))
      .join(' ');
    const city = / in (\p{Lu}[\p{L}-]+)/u.exec(words)?.[1] ?? 'your city';
    const forecast = `Tomorrow in ${city}: ${forecasts[city.length % forecasts.length]}.`;
    const publish = (update: object) => {
      const { payload } = StreamResponse.fromJSON(update);
      if (payload?.$case === 'task') bus.publish(AgentEvent.task(payload.value));
      if (payload?.$case === 'statusUpdate') bus.publish(AgentEvent.statusUpdate(payload.value));
      if (payload?.$case === 'artifactUpdate') bus.publish(AgentEvent.artifactUpdate(payload.value));
    };
    const status = (state: string, said?: string) => ({
      state,
      ...(said ? { message: { messageId: randomUUID(), role: 'ROLE_AGENT', parts: [{ text: said }] } } : {}),
    });
    publish({ task: { id: taskId, contextId, status: status('TASK_STATE_SUBMITTED') } });
    publish({
      statusUpdate: { taskId, contextId, status: status('TASK_STATE_WORKING', `looking at the sky over ${city}`) },
    });
    publish({
      artifactUpdate: { taskId, contextId, artifact: { artifactId: 'forecast', parts: [{ text: forecast }] } },
    });
    publish({ statusUpdate: { taskId, contextId, status: status('TASK_STATE_COMPLETED') } });
    bus.finished();
  },
  cancelTask: async () => {},
};

const server = createServer(async (request, response) => {
  if (request.url === '/.well-known/agent-card.json') {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(card));
    return;
  }
  const requestedVersion = String(request.headers['a2a-version'] ?? '');
  const result = await handler.handle(await text(request), new ServerCallContext({ requestedVersion }));
  if (Symbol.asyncIterator in result) {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for await (const event of result) response.write(`data: ${JSON.stringify(event)}\n\n`);
    response.end();
  } else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(result));
}).listen(0, '127.0.0.1');
await once(server, 'listening');
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;

const card = {
  name: 'Weather Frog',
  description: 'Forecasts the weather of tomorrow for any city',
  version: '1.0.0',
  supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  capabilities: { streaming: true },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [
    {
      id: 'forecast',
      name: 'Forecast',
      description: 'Rain, sun and temperature',
      tags: ['weather'],
      examples: ['What will the weather be in Oslo?'],
    },
  ],
};
const handler = new JsonRpcTransportHandler(
  new DefaultRequestHandler(AgentCard.fromJSON(card), new InMemoryTaskStore(), executor),
);
untilStopped(url, () => {
  server.closeAllConnections();
  server.close();
});
