// Durable runs behind AG-UI, read by the client of that protocol: the server may restart at any time.
import { type AguiHandlerOptions, aguiHandler } from '@pocket-agent/web';
import { PocketAgent, type PocketAgentOptions, tool } from 'pocket-agent';
import { describe, expect, onTestFinished, test } from 'vitest';
import { silent } from '../../pocket-agent/test/helpers.ts';
import type { WebRuns } from '../src/durable/durable-options.ts';
import { PageAgent } from './agui-page.ts';
import { booking, bookingScript, requestedSchema } from './asker.ts';
import {
  eraser,
  modelOf,
  newUrl,
  type Prompt,
  runsWith,
  type Script,
  type Server,
  startServer,
} from './durable-server.ts';
import { authorize } from './page.ts';

const counting = ({ prompt }: Prompt) => `${prompt.length} messages`;

function start(
  url: string,
  script: Script,
  options: Partial<PocketAgentOptions> = {},
  web: Partial<AguiHandlerOptions> = {},
): Promise<Server> {
  return startServer(url, script, options, (agent, durable) => aguiHandler(agent, { authorize, durable, ...web }));
}

const gone = [
  expect.objectContaining({ role: 'user', content: 'Erase 7' }),
  expect.objectContaining({ role: 'assistant', toolCalls: [expect.objectContaining({ type: 'function' })] }),
  expect.objectContaining({ role: 'tool', content: 'erased 1' }),
  expect.objectContaining({ role: 'assistant', content: 'It is gone.' }),
];

test('a client sees reasoning, calls, text, usage and the result, and continues the conversation', async () => {
  const look = tool({ name: 'look', description: 'Looks', annotations: { readOnlyHint: true }, run: () => 'a cat' });
  const script = [{ reasoning: 'Hm.', toolCalls: [{ name: 'look' }] }, 'A cat.', counting];
  const { handler } = await start(newUrl(), script, { tools: [look] });
  const page = new PageAgent(handler);
  const finished: unknown[] = [];
  page.subscribe({ onRunFinishedEvent: ({ event }) => void finished.push(event) });
  expect(await page.ask('What is it?', { runId: 'run-1' })).toBe('A cat.');
  expect(page.shown).toEqual([
    { role: 'user', content: 'What is it?' },
    expect.objectContaining({ role: 'reasoning', content: 'Hm.' }),
    expect.objectContaining({ role: 'assistant', toolCalls: [expect.objectContaining({ type: 'function' })] }),
    expect.objectContaining({ role: 'tool', content: 'a cat' }),
    expect.objectContaining({ role: 'assistant', content: 'A cat.' }),
  ]);
  expect(finished).toEqual([
    expect.objectContaining({ runId: 'run-1', usage: [expect.objectContaining({ totalTokens: 30 })] }),
  ]);
  expect(await page.ask('And now?')).toBe('5 messages');
});

describe('after a restart of the server', () => {
  test('a reloaded page gets the question, and its answer continues the run', async () => {
    const { erased, script, options } = eraser();
    const url = newUrl();
    const first = await start(url, script, options);
    await new PageAgent(first.handler).ask('Erase 7');
    await first.stop();
    const { handler } = await start(url, script, options);
    const page = new PageAgent(handler);
    await page.connectAgent();
    expect(page.pendingInterrupts).toEqual([expect.objectContaining({ reason: 'tool_call' })]);
    expect(erased).toEqual([]);
    await page.answer({ approved: true });
    expect(page.shown).toEqual(gone);
    expect(erased).toEqual([7]);
    const other = new PageAgent(handler);
    await other.connectAgent();
    expect(other.shown).toEqual(gone);
  });

  test('a page that was open answers without connecting', async () => {
    const { erased, script, options } = eraser();
    const url = newUrl();
    let server = await start(url, script, options);
    const page = new PageAgent((request) => server.handler(request));
    await page.ask('Erase 7');
    await server.stop();
    server = await start(url, script, options);
    await page.answer({ approved: false, reason: 'too early' });
    expect(page.said).toBe('It is gone.');
    expect(erased).toEqual([]);
    expect(page.messages.find(({ role }) => role === 'tool')).toMatchObject({ metadata: { isError: true } });
  });

  test('a run in the middle of a step continues, and the page that connects follows it', async () => {
    const url = newUrl();
    const script = [{ toolCalls: [{ name: 'look' }] }, 'A cat.'];
    const held = Promise.withResolvers<string>();
    const look = (run: () => string | Promise<string>) => ({
      tools: [tool({ name: 'look', description: 'Looks', annotations: { readOnlyHint: true }, run })],
    });
    const first = await start(
      url,
      script,
      look(() => held.promise),
    );
    let server = first;
    const page = new PageAgent((request) => server.handler(request), { cutAfter: 1_000 });
    const asked = page.ask('What is it?');
    await expect.poll(() => page.messages.at(-1)).toMatchObject({ toolCalls: [{ type: 'function' }] });
    await first.stop();
    await asked;
    server = await start(
      url,
      script,
      look(() => 'a cat'),
    );
    await page.connectAgent();
    expect(page.said).toBe('A cat.');
    expect(page.shown).toHaveLength(4);
  });

  test('a run that is sent again does not start twice', async () => {
    const { script, options } = eraser();
    const url = newUrl();
    let server = await start(url, script, options);
    const page = new PageAgent((request) => server.handler(request));
    await page.ask('Erase 7', { runId: 'run-1' });
    await server.stop();
    server = await start(url, script, options);
    const again = new PageAgent((request) => server.handler(request));
    await again.ask('Erase 7', { runId: 'run-1' });
    expect(again.pendingInterrupts).toHaveLength(1);
    expect((await server.runs.list({ limit: 9 })).runs).toHaveLength(1);
  });
});

test('a connection that is cut after any event is resumed, also while a question is open', async () => {
  const { erased, script, options } = eraser();
  const { handler } = await start(newUrl(), script, options);
  for (let cutAfter = 0; cutAfter < 10; cutAfter++) {
    const page = new PageAgent(handler, { cutAfter, threadId: `cut-${cutAfter}` });
    await page.ask('Erase 7');
    if (page.pendingInterrupts.length === 0) await page.connectAgent();
    await page.answer({ approved: true });
    if (page.said !== 'It is gone.') await page.connectAgent();
    expect(page.shown, `cut after ${cutAfter} events`).toMatchObject([
      { role: 'user' },
      { role: 'assistant' },
      { role: 'tool', content: `erased ${cutAfter + 1}` },
      { role: 'assistant', content: 'It is gone.' },
    ]);
  }
  expect(erased).toHaveLength(10);
});

test('a form of an MCP server is an interrupt, which the page answers', async () => {
  const { handler } = await start(newUrl(), bookingScript, booking);
  const page = new PageAgent(handler);
  await page.ask('Book');
  expect(page.pendingInterrupts).toEqual([
    expect.objectContaining({ reason: 'input_required', message: 'Which day?', responseSchema: requestedSchema }),
  ]);
  await page.answer({ day: 'Monday' });
  expect(page.said).toBe('Done.');
  expect(page.messages).toContainEqual(expect.objectContaining({ role: 'tool', content: 'Booked for Monday' }));
});

test('a repeated question removes all later turns', async () => {
  const { handler } = await start(
    newUrl(),
    Array.from({ length: 9 }, () => counting),
  );
  const page = new PageAgent(handler);
  for (const said of ['one', 'two']) await page.ask(said);
  expect(page.said).toBe('3 messages');
  page.setMessages([{ id: 'user-0', role: 'user', content: 'other' }]);
  await page.runAgent({ forwardedProps: { repeat: true } });
  expect(page.said).toBe('1 messages');
  const reloaded = new PageAgent(handler);
  await reloaded.connectAgent();
  expect(reloaded.shown).toEqual([
    { role: 'user', content: 'other' },
    { role: 'assistant', content: '1 messages' },
  ]);
});

test('a page that connects at the moment when an answer can no longer be replayed gets it once', async () => {
  let isOld = (): boolean => false;
  const { handler } = await startServer(newUrl(), ['Hello.'], {}, (agent, durable) => {
    const list: WebRuns['list'] = async (filter) => {
      const page = await durable.runs.list(filter);
      const updatedAt = new Date(Date.now() - 3_600_000).toISOString();
      return filter?.limit === 1 && isOld() ? { ...page, runs: page.runs.map((run) => ({ ...run, updatedAt })) } : page;
    };
    return aguiHandler(agent, { authorize, durable: { ...durable, runs: runsWith(durable.runs, { list }) } });
  });
  await new PageAgent(handler).ask('Hi');
  let lookups = 0;
  isOld = () => lookups++ > 0;
  const page = new PageAgent(handler);
  await page.connectAgent();
  expect(page.shown).toEqual([
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: 'Hello.' },
  ]);
});

test('a stream that has ended ignores that the handler is closed', async () => {
  const signals: AbortSignal[] = [];
  const { handler, stop } = await startServer(newUrl(), ['Hello.'], {}, (agent, durable) => {
    const events: WebRuns['events'] = (id, options) => {
      signals.push(options.signal);
      return durable.runs.events(id, options);
    };
    return aguiHandler(agent, { authorize, durable: { ...durable, runs: runsWith(durable.runs, { events }) } });
  });
  await new PageAgent(handler).ask('Hi');
  await stop();
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
});

test('another caller neither sees nor answers the run, and DELETE stops it', async () => {
  const { erased, script, options } = eraser();
  const { handler } = await start(newUrl(), script, options);
  const page = new PageAgent(handler);
  await page.ask('Erase 7');
  const eve = new PageAgent(handler, { user: 'eve' });
  await eve.connectAgent();
  expect(eve.messages).toEqual([]);
  const [asked] = page.pendingInterrupts;
  await eve.runAgent({ resume: [{ interruptId: asked?.id ?? '', status: 'resolved', payload: { approved: true } }] });
  const stop = (user: string) =>
    handler(new Request('http://localhost/agui/thread-1', { method: 'DELETE', headers: { 'x-user': user } }));
  await stop('eve');
  const interrupts = async () => {
    const reloaded = new PageAgent(handler);
    await reloaded.connectAgent();
    return reloaded.pendingInterrupts;
  };
  expect(await interrupts()).toHaveLength(1);
  expect((await stop('ada')).status).toBe(204);
  expect(await interrupts()).toEqual([]);
  expect(erased).toEqual([]);
});

test('options that cannot be combined are refused', async () => {
  const agent = new PocketAgent({ llmModel: modelOf([]), logger: silent });
  onTestFinished(() => agent.close());
  const { runs } = await start(newUrl(), []);
  const durable = { runs, agent: 'helper' };
  expect(() => aguiHandler(agent, { authorize, durable: { runs } as never })).toThrow('openRuns()');
  expect(() => aguiHandler(agent, { authorize, durable, conversations: { forOwner() {} } as never })).toThrow(
    'not both',
  );
});
