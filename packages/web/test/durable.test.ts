// Durable runs behind `useChat`, read by the chat of the AI SDK itself: the server may restart at any time.
import { type ChatHandlerOptions, chatHandler, type WebHandler } from '@pocket-agent/web';
import type { UIMessage } from 'ai';
import { PocketAgent, type PocketAgentOptions, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { silent } from '../../pocket-agent/test/helpers.ts';
import type { WebRun, WebRuns } from '../src/durable/durable-options.ts';
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
import { answerQuestion, authorize, lastParts, lastText, openPage, repeatElsewhere } from './page.ts';

const counting = ({ prompt }: Prompt) => `${prompt.length} messages`;
/** A process of a server with the runs in a database. */
function start(
  url: string,
  script: Script,
  { options = {}, web = {} }: { options?: Partial<PocketAgentOptions>; web?: Partial<ChatHandlerOptions> } = {},
): Promise<Server> {
  return startServer(url, script, options, (agent, durable) => chatHandler(agent, { authorize, durable, ...web }));
}

const get = (handler: WebHandler, path: string, user = 'ada', method = 'GET') =>
  handler(new Request(`http://localhost/api/chat/${path}`, { method, headers: { 'x-user': user } }));

async function savedMessages(handler: WebHandler, user = 'ada'): Promise<UIMessage[]> {
  const { messages } = (await (await get(handler, 'chat-1', user)).json()) as { messages: UIMessage[] };
  return messages;
}

/** The page is loaded again: it gets the saved messages, and the answer in progress. */
async function reload(handler: WebHandler) {
  const page = openPage(handler, { messages: await savedMessages(handler) });
  await page.chat.resumeStream();
  return page;
}

const step = { type: 'step-start' };
const text = (said: string) => ({ type: 'text', text: said, state: 'done' });

describe('a page with durable runs', () => {
  test('sees reasoning, tool calls, text and usage, and continues the conversation', async () => {
    const look = tool({ name: 'look', description: 'Looks', annotations: { readOnlyHint: true }, run: () => 'a cat' });
    const script = [{ reasoning: 'I should look.', toolCalls: [{ name: 'look', arguments: { at: 'it' } }] }, 'A cat.'];
    const { handler } = await start(newUrl(), [...script, counting], { options: { tools: [look] } });
    const page = openPage(handler);
    await page.chat.sendMessage({ text: 'What is it?' });
    expect(page.errors).toEqual([]);
    expect(lastParts(page)).toEqual([
      step,
      expect.objectContaining({ type: 'reasoning', text: 'I should look.', state: 'done' }),
      expect.objectContaining({
        type: 'dynamic-tool',
        toolName: 'look',
        toolCallId: 'call-1',
        state: 'output-available',
        input: { at: 'it' },
        output: 'a cat',
      }),
      step,
      text('A cat.'),
    ]);
    expect(page.chat.lastMessage?.metadata).toMatchObject({ usage: { modelCalls: 2 } });
    await page.chat.sendMessage({ text: 'And now?' });
    expect(page.chat.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
    expect(lastText(page)).toBe('5 messages');
  });

  test('gets text while it is written', async () => {
    const { handler } = await start(newUrl(), ['One. Two. Three.']);
    const body = JSON.stringify({ id: 'c', messages: [{ role: 'user', parts: [{ type: 'text', text: 'Count' }] }] });
    const headers = { 'content-type': 'application/json', 'x-user': 'ada' };
    const response = await handler(new Request('http://localhost/api/chat', { method: 'POST', headers, body }));
    const deltas = (await response.text()).match(/"type":"text-delta"/g) ?? [];
    expect(deltas.length).toBeGreaterThan(1);
  });
});

describe('after a restart of the server', () => {
  test('a question is still open, and the answer continues the run in the same message', async () => {
    const { erased, script, options } = eraser();
    const url = newUrl();
    const first = await start(url, script, { options });
    await openPage(first.handler).chat.sendMessage({ text: 'Erase 7' });
    await first.stop();
    const { handler } = await start(url, script, { options });
    const page = await reload(handler);
    expect(lastParts(page)).toEqual([
      step,
      expect.objectContaining({ state: 'approval-requested', toolName: 'erase', input: { id: 7 } }),
    ]);
    await answerQuestion(page, true);
    await expect.poll(() => lastText(page)).toBe('It is gone.');
    expect(erased).toEqual([7]);
    expect(page.chat.messages).toHaveLength(2);
    expect(lastParts(page)[1]).toMatchObject({ state: 'output-available', output: 'erased 1' });
  });

  test('a page that was open answers without being loaded again', async () => {
    const { erased, script, options } = eraser();
    const url = newUrl();
    let server = await start(url, script, { options });
    const page = openPage((request) => server.handler(request));
    await page.chat.sendMessage({ text: 'Erase 7' });
    await server.stop();
    server = await start(url, script, { options });
    await answerQuestion(page, false, 'too early');
    await expect.poll(() => lastText(page)).toBe('It is gone.');
    expect(erased).toEqual([]);
    expect(lastParts(page)[1]).toMatchObject({ state: 'output-denied' });
  });

  test('a run in the middle of a step continues, and the page follows it', async () => {
    const url = newUrl();
    const script = [{ toolCalls: [{ name: 'look' }] }, 'A cat.'];
    const held = Promise.withResolvers<string>();
    const look = (run: () => string | Promise<string>) => ({
      options: { tools: [tool({ name: 'look', description: 'Looks', annotations: { readOnlyHint: true }, run })] },
    });
    const first = await start(
      url,
      script,
      look(() => held.promise),
    );
    let server = first;
    const page = openPage((request) => server.handler(request));
    const sent = page.chat.sendMessage({ text: 'What is it?' });
    await expect.poll(() => lastParts(page)).toMatchObject([step, { state: 'input-available' }]);
    await first.stop();
    await sent;
    expect(page.chat.status).toBe('error');
    server = await start(
      url,
      script,
      look(() => 'a cat'),
    );
    await page.chat.resumeStream();
    expect(lastText(page)).toBe('A cat.');
    expect(page.chat.messages).toHaveLength(2);
    expect(lastParts(page)[1]).toMatchObject({ state: 'output-available', output: 'a cat' });
    const other = await reload(server.handler);
    expect(other.chat.messages.map(({ parts }) => parts.length)).toEqual([1, 4]);
  });
});

describe('durable conversations', () => {
  test('a connection that is cut after any event is resumed with the same message', async () => {
    const look = tool({ name: 'look', description: 'Looks', annotations: { readOnlyHint: true }, run: () => 'a cat' });
    const script = [{ reasoning: 'Hm, a cat?', toolCalls: [{ id: 'look-1', name: 'look' }] }, 'One. Two.'];
    const { handler } = await start(newUrl(), script, { options: { tools: [look] } });
    const whole = openPage(handler, { id: 'whole' });
    await whole.chat.sendMessage({ text: 'go' });
    const expected = lastParts(whole);
    expect(expected).toHaveLength(5);
    for (let cutAfter = 0; cutAfter < 18; cutAfter++) {
      const page = openPage(handler, { cutAfter, id: `cut-${cutAfter}` });
      await page.chat.sendMessage({ text: 'go' });
      if (page.chat.status === 'error') await page.chat.resumeStream();
      expect(lastParts(page), `cut after ${cutAfter} events`).toEqual(expected);
      expect(page.chat.messages).toHaveLength(2);
    }
  });

  test('a repeated question removes all later turns', async () => {
    const { handler } = await start(
      newUrl(),
      Array.from({ length: 9 }, () => counting),
    );
    const page = openPage(handler);
    for (const said of ['one', 'two', 'three']) await page.chat.sendMessage({ text: said });
    await page.chat.regenerate();
    expect(lastText(page)).toBe('5 messages');
    await page.chat.sendMessage({ text: 'other', messageId: page.chat.messages[0]?.id ?? '' });
    expect(lastText(page)).toBe('1 messages');
    await page.chat.sendMessage({ text: 'next' });
    expect(lastText(page)).toBe('3 messages');
    expect(await savedMessages(handler)).toHaveLength(4);
    const stranger = openPage(handler, {
      messages: [
        { id: 'x', role: 'user', parts: [{ type: 'text', text: 'unlike the first' }] },
        { id: 'y', role: 'user', parts: [{ type: 'text', text: 'again' }] },
      ],
    });
    await stranger.chat.regenerate();
    expect(stranger.errors).toEqual([expect.stringContaining('load them first')]);
  });

  test('an open question is cancelled when the user writes something else', async () => {
    const { erased, script, options } = eraser();
    const { handler } = await start(newUrl(), script, { options });
    const page = openPage(handler);
    await page.chat.sendMessage({ text: 'Erase 7' });
    await page.chat.sendMessage({ text: 'Never mind' });
    expect(lastText(page)).toBe('It is gone.');
    expect(erased).toEqual([]);
  });

  test('a message that is refused leaves the open question as it is', async () => {
    const { erased, script, options } = eraser();
    let full: WebHandler = () => expect.fail('not served yet');
    const { handler } = await startServer(newUrl(), script, options, (agent, durable) => {
      full = chatHandler(agent, { authorize, durable, maxRuns: 1 });
      return chatHandler(agent, { authorize, durable });
    });
    const page = openPage(handler);
    await page.chat.sendMessage({ text: 'Erase 7' });
    await openPage(handler, { user: 'eve' }).chat.sendMessage({ text: 'Erase 7' });
    const refused = openPage(full);
    await refused.chat.sendMessage({ text: 'Never mind' });
    expect(refused.requests).toEqual(['POST /api/chat 429']);
    await answerQuestion(page, true);
    await expect.poll(() => lastText(page)).toBe('It is gone.');
    expect(erased).toEqual([7]);
  });

  test('a page that does not show the saved messages leaves the open question as it is', async () => {
    const { erased, script, options } = eraser();
    const { handler } = await start(newUrl(), script, { options });
    const page = openPage(handler);
    await page.chat.sendMessage({ text: 'Erase 7' });
    expect(await repeatElsewhere(handler)).toEqual(['POST /api/chat 409']);
    await answerQuestion(page, true);
    await expect.poll(() => lastText(page)).toBe('It is gone.');
    expect(erased).toEqual([7]);
  });

  test('approvals of sub-agents reach the page', async () => {
    const { erased, script, options } = eraser();
    const cleaner = () =>
      new PocketAgent({ name: 'Cleaner', llmModel: modelOf(script), tools: options.tools, logger: silent });
    const ask = { toolCalls: [{ name: 'Cleaner-message', arguments: { message: 'Erase 7' } }] };
    const access = { confirm: ({ name }: { name: string }) => name === 'erase' };
    const { handler } = await start(newUrl(), [ask, 'All clean.'], { options: { subAgents: [cleaner()], access } });
    const page = openPage(handler);
    await page.chat.sendMessage({ text: 'Clean up' });
    expect(lastParts(page).at(-1)).toMatchObject({ toolName: 'erase', state: 'approval-requested' });
    await answerQuestion(page, true);
    await expect.poll(() => lastText(page)).toBe('All clean.');
    expect(erased).toEqual([7]);
  });

  test('a form of an MCP server is a part that the page answers', async () => {
    const { handler } = await start(newUrl(), bookingScript, { options: booking });
    const page = openPage(handler);
    await page.chat.sendMessage({ text: 'Book' });
    const form = () => Object(page.chat.lastMessage?.parts.find(({ type }) => type === 'data-form')).data;
    expect(form()).toMatchObject({ state: 'open', server: 'asker', message: 'Which day?', schema: requestedSchema });
    const forms = [{ id: form().id, action: 'accept', content: { day: 'Monday' } }];
    await page.chat.sendMessage(undefined, { body: { forms } });
    expect(lastText(page)).toBe('Done.');
    expect(form().state).toBe('answered');
    expect(lastParts(page)).toContainEqual(expect.objectContaining({ output: 'Booked for Monday' }));
  });

  test('stop cancels the run, and the conversation can continue', async () => {
    const { handler } = await start(newUrl(), [{ text: 'late', delayMs: 600_000 }]);
    const page = openPage(handler);
    const sent = page.chat.sendMessage({ text: 'go' });
    await expect.poll(() => page.requests).toHaveLength(1);
    const second = openPage(handler);
    await second.chat.sendMessage({ text: 'me too' });
    expect(second.requests).toEqual(['POST /api/chat 409']);
    expect((await get(handler, 'chat-1/stream', 'ada', 'DELETE')).status).toBe(204);
    await sent;
    expect((await get(handler, 'chat-1/stream')).status).toBe(200);
  });

  test('another caller cannot read, resume, stop or answer them', async () => {
    const { erased, script, options } = eraser();
    const { handler } = await start(newUrl(), script, { options });
    const page = openPage(handler);
    await page.chat.sendMessage({ text: 'Erase 7' });
    const eve = openPage(handler, { user: 'eve', messages: structuredClone(page.chat.messages) });
    await eve.chat.resumeStream();
    await answerQuestion(eve, true);
    await expect.poll(() => eve.requests).toEqual(['GET /api/chat/chat-1/stream 204', 'POST /api/chat 409']);
    expect(await savedMessages(handler, 'eve')).toEqual([]);
    await get(handler, 'chat-1/stream', 'eve', 'DELETE');
    expect(erased).toEqual([]);
    await answerQuestion(page, true);
    await expect.poll(() => lastText(page)).toBe('It is gone.');
  });

  test('a run beyond the limits of a caller is refused', async () => {
    const { handler } = await start(newUrl(), [{ text: 'late', delayMs: 600_000 }], { web: { maxRunsPerCaller: 1 } });
    void openPage(handler, { id: 'one' }).chat.sendMessage({ text: 'go' });
    const other = openPage(handler, { id: 'two' });
    await expect.poll(async () => (await get(handler, 'one/stream')).status).toBe(200);
    await other.chat.sendMessage({ text: 'go' });
    expect(other.requests).toEqual(['POST /api/chat 429']);
  });

  test('only the allowed number of runs begin when one caller starts many at once', async () => {
    const { handler, runs } = await start(newUrl(), [{ text: 'late', delayMs: 600_000 }], {
      web: { maxRunsPerCaller: 2 },
    });
    const pages = Array.from({ length: 6 }, (_, index) => openPage(handler, { id: `chat-${index}` }));
    for (const page of pages) void page.chat.sendMessage({ text: 'go' });
    await expect.poll(() => pages.flatMap(({ requests }) => requests)).toHaveLength(6);
    const refused = pages.flatMap(({ requests }) => requests).filter((request) => request.endsWith(' 429'));
    expect(refused).toHaveLength(4);
    expect((await runs.list({ limit: 9 })).runs).toHaveLength(2);
  });

  test('a limit above 1,000 runs is kept', async () => {
    const open = Array.from({ length: 1_500 }, (_, index) => ({ id: `run-${index}` }) as WebRun);
    const { handler } = await startServer(newUrl(), ['Hello.'], {}, (agent, durable) => {
      const list: WebRuns['list'] = async ({ prefix, status, limit, cursor }) => {
        if (prefix === undefined || status !== 'running') return { runs: [] };
        const from = Number(cursor ?? 0);
        const next = from + limit < open.length ? { next: String(from + limit) } : {};
        return { runs: open.slice(from, from + limit), ...next };
      };
      const runs = runsWith(durable.runs, { list });
      return chatHandler(agent, { authorize, durable: { ...durable, runs }, maxRuns: 1_500, maxRunsPerCaller: 2_000 });
    });
    const page = openPage(handler);
    await page.chat.sendMessage({ text: 'Hi' });
    expect(page.requests).toEqual(['POST /api/chat 429']);
    expect(page.errors.join()).toContain('already has 1500 runs');
  });

  test('a page reads that a run failed, without details for the operator', async () => {
    const { handler } = await start(newUrl(), [{ error: new Error('connect ECONNREFUSED 10.0.0.7') }]);
    const page = openPage(handler);
    await page.chat.sendMessage({ text: 'go' });
    expect(page.errors).toEqual(['The agent failed (MODEL_FAILED); its log says why.']);
  });

  test('options that cannot be combined are refused', async () => {
    const agent = new PocketAgent({ llmModel: new ScriptedModel([]), logger: silent, approve: () => 'allow' });
    onTestFinished(() => agent.close());
    const { runs } = await start(newUrl(), []);
    const durable = { runs, agent: 'helper' };
    expect(() => chatHandler(agent, { authorize, durable: { runs } as never })).toThrow('openRuns()');
    expect(() => chatHandler(agent, { authorize, durable, approvals: 'caller' })).toThrow('without approve');
    expect(() => chatHandler(agent, { authorize, durable, conversations: { forOwner() {} } as never })).toThrow(
      'not both',
    );
  });
});
