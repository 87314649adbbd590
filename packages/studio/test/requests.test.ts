// Requests to models: how many are kept, and asking one again.
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { type ModelCallReport, PocketAgent } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { expect, test } from 'vitest';
import { ModelCalls } from '../src/state/model-calls.ts';
import type { ModelCallDetails, Replay } from '../src/wire/wire.ts';
import { type Client, hasEnded, makeShop, refundCall, startStudio } from './world.ts';

async function lastCall(client: Client): Promise<string> {
  const line = (await client.lines(hasEnded)).findLast(({ type }) => type === 'model_call');
  return line?.type === 'model_call' ? line.call.id : '';
}

test('a request is asked again with another prompt; no tool is called', async () => {
  const asked = ({ prompt }: { prompt: unknown }) => ({ ...refundCall, text: JSON.stringify(prompt) });
  const { agent, refunds } = makeShop(['Hello.', asked]);
  const client = await startStudio({ shop: agent });
  await client.chat('shop', 'Hi');
  const id = await lastCall(client);
  const prompt = [{ role: 'user', content: [{ type: 'text', text: 'Good evening' }] }];
  const replay = await client.post<Replay>(`/api/calls/${id}/replay`, { prompt });
  expect(JSON.stringify(replay.answer)).toContain('Good evening');
  expect(refunds).toEqual([]);
  expect(replay.durationMs).toBeGreaterThanOrEqual(0);
});

test.each([{ type: 'tool' as const, toolName: 'search' }, 'auto' as const])(
  'a request is asked again without the tools that the provider would run, also with toolChoice %j',
  async (toolChoice) => {
    const shown = ({ tools = [], toolChoice: choice }: LanguageModelV4CallOptions) =>
      `${tools.map(({ name }) => name).join()} ${choice?.type}`;
    const providerTools = [{ id: 'scripted.search' as const, capability: 'read' as const }];
    const { agent } = makeShop([shown, shown], { providerTools, completionOptions: { toolChoice } });
    const client = await startStudio({ shop: agent });
    await client.chat('shop', 'Hi');
    const id = await lastCall(client);
    const call = (await (await client.fetch(`/api/calls/${id}`)).json()) as ModelCallDetails;
    const forced = toolChoice === 'auto' ? 'auto' : 'tool';
    expect(call.answer).toMatchObject({ content: [{ text: `refund,search ${forced}` }] });
    const replay = await client.post<Replay>(`/api/calls/${id}/replay`, {});
    expect(replay.answer).toMatchObject({
      content: [{ text: `refund ${toolChoice === 'auto' ? 'auto' : undefined}` }],
    });
  },
);

test('a request is asked again of another model', async () => {
  const { agent } = makeShop(['Hello.']);
  const client = await startStudio({ shop: agent });
  await client.chat('shop', 'What is 6 * 7?');
  const replay = await client.post<Replay>(`/api/calls/${await lastCall(client)}/replay`, { model: 'demo' });
  expect(replay.model).toContain('demo');
});

test('a request is asked again of the model that it was sent to, also after the chat has another', async () => {
  const { agent } = makeShop(['Hello.', 'Hello again.']);
  const client = await startStudio({ shop: agent });
  const { id } = await client.chat('shop', 'Hi');
  const call = await lastCall(client);
  await client.post(`/api/chats/${id}/settings`, { model: 'demo' });
  await client.post(`/api/chats/${id}/messages`, { text: 'What is 6 * 7?' });
  await client.lines((line) => line.type === 'model_call' && line.call.model.includes('demo'));
  const replay = await client.post<Replay>(`/api/calls/${call}/replay`, {});
  expect(replay).toMatchObject({ model: 'scripted/script', answer: { content: [{ text: 'Hello again.' }] } });
});

test('what cannot be asked again says why', async () => {
  const { agent } = makeShop(['Hello.']);
  const client = await startStudio({ shop: agent });
  await client.chat('shop', 'Hi');
  const path = `/api/calls/${await lastCall(client)}/replay`;
  await expect(client.post('/api/calls/none/replay', {})).rejects.toThrow('no longer kept');
  await expect(client.post(path, { prompt: 'Hi' })).rejects.toThrow('A prompt is a list');
  await expect(client.post(path, { model: 'unknown/model' })).rejects.toThrow('unknown');
  await expect(client.post(path, {})).rejects.toThrow('The model did not answer'); // its script is over
});

test('requests of sub-agents are kept as they were sent, and asked again of their own model', async () => {
  const asked = ({ prompt }: LanguageModelV4CallOptions) => `It was asked: ${JSON.stringify(prompt.at(-1))}`;
  const policy = new PocketAgent({
    name: 'policy',
    roleDescription: 'Knows the rules',
    llmModel: new ScriptedModel([asked, asked], { provider: 'own', modelId: 'rules' }),
  });
  const question = { toolCalls: [{ name: 'policy-message', arguments: { message: 'May I?' } }] };
  const { agent } = makeShop([question, 'You may.'], { subAgents: [policy] });
  const client = await startStudio({ shop: agent });
  await client.chat('shop', 'Hi');
  const lines = await client.lines(hasEnded);
  const runs = lines.flatMap((line) => (line.type === 'event' ? [line.event.meta.runId] : []));
  const inner = lines
    .flatMap((line) => (line.type === 'model_call' ? [line.call] : []))
    .find(({ model }) => model === 'own/rules');
  expect(runs).toContain(inner?.runId);
  const path = `/api/calls/${inner?.id}`;
  const { prompt, answer } = (await (await client.fetch(path)).json()) as ModelCallDetails;
  expect(prompt).toContainEqual({ role: 'user', content: [expect.objectContaining({ text: 'May I?' })] });
  expect(JSON.stringify(answer)).toContain('It was asked');
  expect(await client.post<Replay>(`${path}/replay`, {})).toMatchObject({ model: 'own/rules' });
});

test('kept requests have a bound in bytes, and messages that they share count once', () => {
  const calls = new ModelCalls(100_000);
  const message = (text: string) => ({ role: 'user' as const, content: [{ type: 'text' as const, text }] });
  const long = message('x'.repeat(40_000));
  const keep = (id: string, prompt: ModelCallReport['prompt'], answer?: string) =>
    calls.keep('chat', {
      ...{ id, model: new ScriptedModel([]), prompt, tools: [], settings: {} },
      meta: { agentName: 'shop', agentId: '', isSubAgent: false, path: ['shop'], time: 0, runId: 'run' },
      ...(answer === undefined ? {} : { answer: answerOf(answer) }),
    });
  keep('one', [long]);
  const alone = calls.bytes;
  keep('two', [long, message('more')]);
  expect(calls.bytes - alone).toBeLessThan(1_000);
  keep('two', [long, message('more')], 'y'.repeat(10_000));
  expect(calls.get('one')).toBeDefined();
  keep('three', [message('z'.repeat(80_000))]);
  expect(calls.get('one')).toBeUndefined();
  expect(calls.get('two')).toBeUndefined();
  expect(calls.get('three')).toBeDefined();
});

function answerOf(text: string): NonNullable<ModelCallReport['answer']> {
  return {
    content: [{ type: 'text', text }],
    finishReason: { unified: 'stop', raw: 'stop' },
    usage: {
      inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 1, text: 1, reasoning: 0 },
    },
    warnings: [],
  };
}
