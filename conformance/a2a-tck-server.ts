// A server for the official A2A compatibility kit. The prefix of a message id selects what the agent does. The HTTP layer
// (signed card, JSON-RPC, REST) and the webhooks are those that serve our agents.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import { AgentCard } from '@a2a-js/sdk';
import {
  DefaultRequestHandler,
  InMemoryTaskStore,
  JsonRpcTransportHandler,
  type PushNotificationSender,
  type PushNotificationStore,
} from '@a2a-js/sdk/server';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { stderrLogger } from '@pocket-agent/kit';
import { REST_PATH, RPC_PATH } from '../packages/a2a/src/server/card.ts';
import { makeHandler } from '../packages/a2a/src/server/http-handler.ts';
import type { A2aProtocol, RpcAnswer } from '../packages/a2a/src/server/request-handler.ts';
import {
  callOf,
  contextOf,
  fromSdkTask,
  fromSdkWebhook,
  serializeNotification,
  toSdkWebhook,
} from '../packages/a2a/src/server/sdk-json.ts';
import { signNotification } from '../packages/a2a/src/signing/notification-jwt.ts';
import { CardSigner } from '../packages/a2a/src/signing/sign-card.ts';
import { generateSigningKey } from '../packages/a2a/src/signing/signing-key.ts';
import { SigningKeys } from '../packages/a2a/src/signing/signing-keys.ts';
import { PushNotifications } from '../packages/a2a/src/tasks/push.ts';
import type { Call } from '../packages/a2a/src/tasks/server-options.ts';
import type { AgentCard as CardJson } from '../packages/a2a/src/wire/agent-card.ts';
import { showHelp } from '../scripts/show-help.ts';
import { tckExecutor } from './a2a-tck-executor.ts';

interface TckServerOptions {
  /** Default 0, any free port. */
  port?: number;
  /** How long slow scenarios wait, in milliseconds: the streaming timeout of the kit. Default 2,000. */
  waitMs?: number;
}

export interface TckServer {
  url: string;
  close(): Promise<void>;
}

const HOST = '127.0.0.1';
const MAX_BYTES = 4_194_304;
const MAX_TASKS = 1_000;

export async function startTckServer({ port = 0, waitMs = 2_000 }: TckServerOptions = {}): Promise<TckServer> {
  const server = createServer((request, response) => void handle(request, response));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, HOST, resolve);
  });
  const url = `http://${HOST}:${(server.address() as AddressInfo).port}`;
  const card = cardAt(url);
  const keys = new SigningKeys({ keys: [generateSigningKey()], logger: stderrLogger() });
  const push = pushWith(keys);
  const rpc = new JsonRpcTransportHandler(
    new DefaultRequestHandler(
      AgentCard.fromJSON(card),
      new InMemoryTaskStore(),
      tckExecutor(waitMs),
      undefined,
      webhookStore(push),
      webhookSender(push),
      undefined,
      undefined,
      { validateInputModes: true },
    ),
  );
  const protocol = {
    async handle(body: Record<string, unknown>, call: Call) {
      return (await rpc.handle(body, contextOf({ ...call, isAuthenticated: true }))) as
        | RpcAnswer
        | AsyncGenerator<RpcAnswer>;
    },
  };
  const fetch = makeHandler({
    host: HOST,
    // a cast, because the class has private members; only `handle` is used
    protocol: protocol as unknown as A2aProtocol,
    maxBodyBytes: MAX_BYTES,
    card: async () => card,
    signer: new CardSigner(keys),
  });
  const handle = toNodeHandler({ fetch });
  return {
    url,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      await push.close();
    },
  };
}

/** The kit receives notifications on this machine, and in tests as well. */
function pushWith(keys: SigningKeys): PushNotifications {
  return new PushNotifications({
    allowHosts: ['127.0.0.1', 'localhost'],
    logger: stderrLogger(),
    maxTasks: MAX_TASKS,
    isRunning: () => false,
    serialize: serializeNotification,
    sign: async (body, to) => signNotification({ body, ...to }, await keys.current()),
  });
}

function webhookStore(push: PushNotifications): PushNotificationStore {
  return {
    async save(taskId, context, config) {
      config.id = push.add(callOf(context), taskId, fromSdkWebhook(config)).id;
    },
    load: async (taskId, context) => push.list(callOf(context), taskId).map(toSdkWebhook),
    delete: async (taskId, context, id = taskId) => push.remove(callOf(context), taskId, id),
  };
}

function webhookSender(push: PushNotifications): PushNotificationSender {
  return {
    async send(_update, context, task) {
      if (task) push.notify(callOf(context), fromSdkTask(task));
    },
  };
}

function cardAt(url: string): CardJson {
  return {
    name: 'Pocket Agent under test',
    description: 'Does what the A2A compatibility kit asks for',
    version: '1.0.0',
    provider: { organization: 'Pocket Agent', url: 'https://example.com' },
    supportedInterfaces: [
      { url: url + RPC_PATH, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      { url: url + REST_PATH, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
    ],
    capabilities: { streaming: true, pushNotifications: true },
    defaultInputModes: ['text/plain', 'application/json'],
    defaultOutputModes: ['text/plain', 'application/json'],
    skills: [{ id: 'tck', name: 'Compatibility', description: 'The scenarios of the kit', tags: ['tck'] }],
  };
}

if (import.meta.main) {
  showHelp('npm run a2a:tck-server [-- --port N]   a server for the A2A compatibility kit; default port: 9999\n');
  const { values } = parseArgs({ options: { port: { type: 'string', default: '9999' } } });
  const { url, close } = await startTckServer({ port: Number(values.port) });
  process.stdout.write(`${url}\n`);
  process.once('SIGTERM', close).once('SIGINT', close);
}
