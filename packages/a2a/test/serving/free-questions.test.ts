// Questions in free text: an agent asks its caller, who answers with any text, and the task continues.
import { askCaller, remoteAgent } from '@pocket-agent/a2a';
import type { PocketAgent } from 'pocket-agent';
import type { ScriptedModel } from 'pocket-agent/testing';
import { afterEach, expect, test } from 'vitest';
import { silent } from '../../../pocket-agent/test/helpers.ts';
import {
  answerOf,
  type Binding,
  bindings,
  clientOf,
  message,
  send,
  stateOf,
  statusText,
  until,
  World,
} from '../fixtures/world.ts';

type Script = ConstructorParameters<typeof ScriptedModel>[0];

const world = new World();
afterEach(() => world.close());

const asks = (...questions: string[]) => ({
  toolCalls: questions.map((question) => ({ name: 'ask_caller', arguments: { question } })),
});

/** A served agent that can ask, with the conversations that it has. */
async function serve(script: Script, options: Parameters<World['serve']>[1] = {}) {
  const agents: PocketAgent[] = [];
  const agent = world.agent(script, { tools: [askCaller()] });
  const createAgent = () => {
    agents.push(agent.fork());
    return agents.at(-1) as PocketAgent;
  };
  const { url } = await world.serve(agent, { createAgent, ...options });
  /** What the tool returned, in order. */
  const returned = () =>
    (agents[0]?.messages ?? []).flatMap(({ role, content }) =>
      role === 'tool' ? content.map((part) => Object(part).output.value as string) : [],
    );
  return { url, returned };
}

test.each<Binding>(bindings)('a question waits for any text (%s)', async (binding) => {
  const { url, returned } = await serve([asks('Which size?'), 'Ordered.']);
  const client = await clientOf(url, { binding });
  const asked = await send(client, message('Order a pizza'));
  expect([stateOf(asked), statusText(asked)]).toEqual(['TASK_STATE_INPUT_REQUIRED', 'Which size?']);
  const done = await send(client, message('The large one, please.', { taskId: asked.id }));
  expect([stateOf(done), answerOf(done)]).toEqual(['TASK_STATE_COMPLETED', 'Ordered.']);
  expect(returned()).toEqual(['The large one, please.']);
});

test('questions one after the other need no names, and "no" is an answer like any other', async () => {
  const { url, returned } = await serve([asks('Which size?'), asks('Olives?'), 'Ordered.']);
  const client = await clientOf(url);
  const { id: taskId } = await send(client, message('Order a pizza'));
  const second = await send(client, message('large', { taskId }));
  expect(statusText(second)).toBe('Olives?');
  expect(stateOf(await send(client, message('no', { taskId })))).toBe('TASK_STATE_COMPLETED');
  expect(returned()).toEqual(['large', 'no']);
});

test('questions of the same moment are answered by their names', async () => {
  const { url, returned } = await serve([asks('Which size?', 'Olives?'), 'Ordered.']);
  const client = await clientOf(url);
  const { id: taskId } = await send(client, message('Order a pizza'));
  const both = await until(client, taskId, (task) => statusText(task).includes('Olives?'));
  const [size, olives] = statusText(both).match(/q\d-[0-9a-f]{8}/g) ?? [];
  await expect(send(client, message('large', { taskId }))).rejects.toThrow('by its name');
  await send(client, message(`${olives}: no olives`, { taskId }));
  await expect(send(client, message(`${olives}: yes`, { taskId }))).rejects.toThrow('Answer with text');
  await send(client, message([{ data: { question: size, content: { answer: 'large' } } }], { taskId }));
  expect(returned()).toEqual(['large', 'no olives']);
});

test('an empty answer is refused, and JSON is an answer', async () => {
  const { url, returned } = await serve([asks('Which size?'), 'Ordered.']);
  const client = await clientOf(url);
  const { id: taskId } = await send(client, message('Order a pizza'));
  await expect(send(client, message('  ', { taskId }))).rejects.toThrow('Answer with text.');
  expect(stateOf(await send(client, message([{ data: { size: 'L' } }], { taskId })))).toBe('TASK_STATE_COMPLETED');
  expect(returned()).toEqual(['{"size":"L"}']);
});

test('a caller that declines, or does not answer in time, is reported to the model', async () => {
  const declined = await serve([asks('Which size?'), 'Then not.']);
  const client = await clientOf(declined.url);
  const { id: taskId } = await send(client, message('Order a pizza'));
  await send(client, message([{ data: { action: 'decline' } }], { taskId }));
  expect(declined.returned()[0]).toContain('declined to answer');
  const late = await serve([asks('Which size?'), 'Then not.'], { inputTimeoutMs: 1 });
  const second = await clientOf(late.url);
  const task = await send(second, message('Order a pizza'));
  await until(second, task.id, (now) => stateOf(now) === 'TASK_STATE_COMPLETED');
  expect(late.returned()[0]).toContain('did not answer');
});

test('without a caller the model is told that there is no one to ask', async () => {
  const agent = world.agent([asks('Which size?'), 'Small, then.'], { tools: [askCaller()] });
  await agent.run('Order a pizza');
  expect(JSON.stringify(agent.messages)).toContain('There is no one to ask');
});

test('the model of the agent that calls reads the question, and answers with the task id', async () => {
  const { url, returned } = await serve([asks('Which size?'), 'Ordered.']);
  let asked = '';
  const boss = world.agent(
    [
      { toolCalls: [{ name: 'Pizzeria-message', arguments: { message: 'A pizza' } }] },
      ({ prompt }) => {
        asked = JSON.stringify(prompt.at(-1));
        const taskId = /taskId \\?"([\w-]+)/.exec(asked)?.[1];
        return { toolCalls: [{ name: 'Pizzeria-message', arguments: { message: 'small', taskId } }] };
      },
      'It is ordered.',
    ],
    { tools: [remoteAgent({ url, name: 'Pizzeria', logger: silent })] },
  );
  expect(await boss.run('I am hungry')).toBe('It is ordered.');
  expect(asked).toContain('Pizzeria asks a question before it continues:');
  expect(asked).not.toContain('approve');
  expect(returned()).toEqual(['small']);
});

test('a question of an agent behind an agent reaches the caller in front, who answers it', async () => {
  const { url, returned } = await serve([asks('Which size?'), 'Ordered.']);
  const waiter = world.agent(
    [
      { toolCalls: [{ name: 'Pizzeria-message', arguments: { message: 'A pizza' } }] },
      asks('The kitchen asks: which size?'),
      ({ prompt }) => {
        const taskId = /taskId \\?"([\w-]+)/.exec(JSON.stringify(prompt))?.[1];
        return { toolCalls: [{ name: 'Pizzeria-message', arguments: { message: 'medium', taskId } }] };
      },
      'Coming up.',
    ],
    { tools: [remoteAgent({ url, name: 'Pizzeria', logger: silent }), askCaller()] },
  );
  const client = await clientOf((await world.serve(waiter)).url);
  const asked = await send(client, message('A pizza'));
  expect(statusText(asked)).toBe('The kitchen asks: which size?');
  expect(answerOf(await send(client, message('medium', { taskId: asked.id })))).toBe('Coming up.');
  expect(returned()).toEqual(['medium']);
});
