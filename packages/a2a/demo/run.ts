// npm run a2a:demo: agents that talk over A2A: a signed card, a question, a file, a restart, a webhook. Needs no API key.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openRuns } from '@pocket-agent/runs';
import { PocketAgent, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { showHelp } from '../../../scripts/show-help.ts';
import { type SigningKey, verifyNotification } from '../src/client/index.ts';
import { askCaller, remoteAgent, sendArtifact } from '../src/index.ts';

showHelp(
  'npm run a2a:demo   agents that talk over A2A: a signed card, a question, a file, a restart; needs no API key\n',
);
const folder = await mkdtemp(join(tmpdir(), 'a2a-demo-'));
const print = (line: string) => void process.stdout.write(`${line}\n`);

const bill = tool({
  name: 'write_bill',
  description: 'Sends the bill to the caller as a file',
  capability: 'read',
  run: () => {
    sendArtifact({ name: 'bill.csv', mediaType: 'text/csv', text: 'item,price\n', lastChunk: false });
    sendArtifact({ name: 'bill.csv', mediaType: 'text/csv', text: 'large pizza,12.50\n', append: true });
    return 'The bill was sent.';
  },
});
const ask = { toolCalls: [{ name: 'ask_caller', arguments: { question: 'Which size?' } }] };

/** What the pizzeria does next, however often its process starts. */
function pizzeria(script: ConstructorParameters<typeof ScriptedModel>[0]): PocketAgent {
  return new PocketAgent({ llmModel: new ScriptedModel(script), name: 'Pizzeria', tools: [askCaller(), bill] });
}

try {
  print('1. A pizzeria is served over A2A. Its card is signed, and the keys are published.');
  const signing = { folder: join(folder, 'keys') };
  await using shop = pizzeria([ask, { toolCalls: [{ name: 'write_bill' }] }, 'One large pizza is on its way.']);
  const { url, cardUrl } = await shop.asA2aServer({ signing, tokens: { 'token-of-ann': 'admin' } }).listen();
  const card = (await (await fetch(cardUrl)).json()) as { name: string; signatures: object[] };
  const { keys } = (await (await fetch(`${url}/.well-known/jwks.json`)).json()) as { keys: SigningKey[] };
  print(`   ${card.name} has a card with ${card.signatures.length} signatures, by the key ${keys[0]?.kid}`);

  print(
    '2. Another agent uses it as a tool, and trusts only this key. The pizzeria asks a question; a model answers it.',
  );
  const order = (message: string, taskId?: string) => ({
    toolCalls: [{ name: 'Pizzeria-message', arguments: { message, ...(taskId ? { taskId } : {}) } }],
  });
  await using waiter = new PocketAgent({
    llmModel: new ScriptedModel([
      order('A pizza, please'),
      ({ prompt }) => {
        const text = JSON.stringify(prompt.at(-1));
        print(`   question: ${/continues:(?:\\n)*([^\\"]+)/.exec(text)?.[1]}`);
        return order('The large one', /taskId \\"([\w-]+)/.exec(text)?.[1]);
      },
      'The pizza is ordered.',
    ]),
    tools: [remoteAgent({ url, token: 'token-of-ann', trustedKeys: keys, folder: join(folder, 'files') })],
  });
  print(`   answer: ${await waiter.run('Order a pizza')}`);
  print('3. The bill came in two chunks, as an artifact beside the answer, and was saved:');
  print(`   ${JSON.stringify(await readFile(join(folder, 'files', 'bill.csv'), 'utf8'))}`);

  print(
    '4. A task waits for an answer while its server is stopped and started again. A webhook is told, with a signature.',
  );
  const durable = async (script: ConstructorParameters<typeof ScriptedModel>[0]) => {
    const agents = { pizzeria: () => pizzeria(script) };
    const runs = await openRuns({ url: `sqlite:${join(folder, 'runs.db')}`, agents });
    const agent = pizzeria([]);
    const options = { durable: { runs, agent: 'pizzeria' }, signing, pushNotifications: { allowHosts: ['127.0.0.1'] } };
    const listening = await agent.asA2aServer(options).listen();
    return { url: listening.url, stop: async () => [await agent.close(), await runs.close()] };
  };
  const hook = await openWebhook(keys);
  const first = await durable([ask]);
  const taskPushNotificationConfig = { url: hook.url };
  const asked = await send(first.url, { parts: [{ text: 'A pizza' }] }, { taskPushNotificationConfig });
  print(`   ${asked.status.state}: ${asked.status.message?.parts[0]?.text}`);
  print(`   webhook: ${await hook.told}`);
  await first.stop();
  const second = await durable(['One small pizza is on its way.']);
  const done = await send(second.url, { taskId: asked.id, parts: [{ text: 'small' }] });
  print(`   after the restart: ${done.status.state}: ${done.artifacts?.[0]?.parts[0]?.text}`);
  await second.stop();
  await hook.close();
} finally {
  await rm(folder, { recursive: true });
}

interface Task {
  id: string;
  status: { state: string; message?: { parts: { text?: string }[] } };
  artifacts?: { parts: { text?: string }[] }[];
}

async function send(url: string, message: object, configuration: object = {}): Promise<Task> {
  const response = await fetch(`${url}/a2a/rest/message:send`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
    body: JSON.stringify({ message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', ...message }, configuration }),
  });
  return ((await response.json()) as { task: Task }).task;
}

/** Checks the signature of the first notification. */
async function openWebhook(keys: readonly SigningKey[]) {
  const { promise: told, resolve } = Promise.withResolvers<string>();
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const signature = String(request.headers['x-a2a-notification-signature']);
    const isSigned = verifyNotification({ signature, body, keys, audience: `http://${request.headers.host}` });
    response.end();
    resolve(`${JSON.parse(body).task.status.state}, ${isSigned ? 'signed by the agent' : 'NOT signed by the agent'}`);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return { url, told, close: () => new Promise((closed) => server.close(closed)) };
}
