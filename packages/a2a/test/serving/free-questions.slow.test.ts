// A question in free text that was asked before a restart of the server.
import { askCaller } from '@pocket-agent/a2a';
import { openRuns } from '@pocket-agent/runs';
import { PocketAgent } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { afterEach, expect, test } from 'vitest';
import { silent } from '../../../pocket-agent/test/helpers.ts';
import { newFile } from '../../../runs/test/agents.ts';
import { answerOf, clientOf, message, send, stateOf, statusText, until, World } from '../fixtures/world.ts';

type Scripted = ConstructorParameters<typeof ScriptedModel>[0][number];

const world = new World();
afterEach(() => world.close());

const asks = (question: string) => ({ toolCalls: [{ name: 'ask_caller', arguments: { question } }] });

test('a question waits across a restart of the server, and an answer that is sent again answers no further question', async () => {
  const file = newFile();
  const script: Scripted[] = [asks('Which size?'), asks('Olives?'), 'Ordered.'];
  const make = () =>
    new PocketAgent({ llmModel: new ScriptedModel(script), name: 'Helper', tools: [askCaller()], logger: silent });
  const start = async () => {
    const runs = world.keep(await openRuns({ url: `sqlite:${file}`, agents: { helper: make }, logger: silent }));
    return clientOf((await world.serve(world.keep(make()), { durable: { runs, agent: 'helper' } })).url);
  };
  const asked = await send(await start(), message('Order a pizza'));
  expect(statusText(asked)).toBe('Which size?');
  await world.close();
  // the model continues where it stopped
  script.shift();
  const client = await start();
  const answer = message('large', { taskId: asked.id });
  await send(client, answer);
  await until(client, asked.id, (task) => statusText(task) === 'Olives?');
  await send(client, answer);
  expect(statusText(await client.getTask({ id: asked.id, tenant: '' }))).toBe('Olives?');
  await send(client, message('no', { taskId: asked.id }));
  const done = await until(client, asked.id, (task) => stateOf(task) === 'TASK_STATE_COMPLETED');
  expect(answerOf(done)).toBe('Ordered.');
});
