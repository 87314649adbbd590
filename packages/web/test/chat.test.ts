// An agent behind `useChat`, read by the chat of the AI SDK itself.
import { openConversations } from '@pocket-agent/store';
import type { UIMessage } from 'ai';
import { PocketAgent, tool } from 'pocket-agent';
import { recordEvents, ScriptedModel } from 'pocket-agent/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { expectValidHistory, scriptedAgent, silent } from '../../pocket-agent/test/helpers.ts';
import { booking, bookingScript, requestedSchema } from './asker.ts';
import { answerQuestion, authorize, lastParts, lastText, openPage, repeatElsewhere, served } from './page.ts';

const look = tool({
  name: 'look',
  description: 'Looks',
  run: (_args, { progress }) => {
    progress({ progress: 1, total: 2, message: 'half' });
    return 'a cat';
  },
});

function eraser() {
  const erased: unknown[] = [];
  const erase = tool({ name: 'erase', description: 'Erases', run: ({ id }) => `erased ${erased.push(id)}` });
  const calls = (...ids: number[]) => ({ toolCalls: ids.map((id) => ({ name: 'erase', arguments: { id } })) });
  return { erased, calls, options: { tools: [erase], access: { confirm: 'destructive' as const } } };
}

const step = { type: 'step-start' };
const text = (said: string) => ({ type: 'text', text: said, state: 'done' });

describe('a page', () => {
  test('sees reasoning, tool calls with progress, sources, text and usage', async () => {
    const source = {
      type: 'source' as const,
      sourceType: 'url' as const,
      id: 's1',
      url: 'https://cats.example',
      title: 'Cats',
    };
    const script = [
      { reasoning: 'I should look.', toolCalls: [{ name: 'look', arguments: { at: 'it' } }] },
      { content: [{ type: 'text' as const, text: 'It is a cat.' }, source] },
    ];
    const page = openPage(served(scriptedAgent(script, { tools: [look] }).agent));
    await page.chat.sendMessage({ text: 'What is it?' });
    expect(page.errors).toEqual([]);
    expect(page.chat.status).toBe('ready');
    expect(lastParts(page)).toEqual([
      step,
      expect.objectContaining({ type: 'reasoning', text: 'I should look.', state: 'done' }),
      {
        type: 'dynamic-tool',
        toolName: 'look',
        toolCallId: 'call-1',
        state: 'output-available',
        input: { at: 'it' },
        output: 'a cat',
      },
      {
        type: 'data-progress',
        id: 'call-1',
        data: { toolCallId: 'call-1', toolName: 'look', progress: 1, total: 2, message: 'half' },
      },
      step,
      text('It is a cat.'),
      { type: 'source-url', sourceId: 's1', url: 'https://cats.example', title: 'Cats' },
    ]);
    expect(page.chat.lastMessage?.metadata).toMatchObject({
      usage: { inputTokens: 20, outputTokens: 10, modelCalls: 2 },
    });
  });

  test('continues the conversation of the server, not the messages of the page', async () => {
    const { agent, model } = scriptedAgent([
      ({ prompt }) => `${prompt.length} messages`,
      ({ prompt }) => `${prompt.length}`,
    ]);
    const handler = served(agent);
    const page = openPage(handler);
    await page.chat.sendMessage({ text: 'one' });
    page.chat.messages = page.chat.messages.map((message) => ({
      ...message,
      parts: [{ type: 'text', text: 'forged' }],
    }));
    await page.chat.sendMessage({ text: 'two' });
    expect(lastText(page)).toBe('3');
    expect(JSON.stringify(model.calls)).not.toContain('forged');
  });

  test('gets a typed answer while it is written, and whole', async () => {
    const output = z.object({ city: z.string(), days: z.number() });
    const llmModel = new ScriptedModel([{ text: '{"city":"Rome","days":3}' }]);
    const page = openPage(served(new PocketAgent({ llmModel, output, logger: silent })));
    await page.chat.sendMessage({ text: 'Plan' });
    expect(lastParts(page)).toContainEqual({ type: 'data-output', id: 'output', data: { city: 'Rome', days: 3 } });
  });

  test('sees files that the model generated', async () => {
    const content = [{ type: 'file' as const, mediaType: 'image/png', data: { type: 'data' as const, data: 'aGk=' } }];
    const page = openPage(served(scriptedAgent([{ content, text: '' }]).agent));
    await page.chat.sendMessage({ text: 'Draw' });
    expect(lastParts(page)).toContainEqual({ type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,aGk=' });
  });

  test('sends files of allowed types', async () => {
    const { agent, model } = scriptedAgent(['seen'], { agentConfig: { allowImages: true } });
    const page = openPage(served(agent));
    const files = [{ type: 'file' as const, mediaType: 'image/png', url: 'data:image/png;base64,iVBORw0KGgo=' }];
    await page.chat.sendMessage({ text: 'Look', files });
    expect(model.calls[0]?.prompt.at(-1)?.content).toHaveLength(2);
    await page.chat.sendMessage({
      text: 'Read',
      files: [{ type: 'file', mediaType: 'text/html', url: 'file:///etc/passwd' }],
    });
    expect(page.errors.join()).toContain('http, https or data URL');
  });

  test('does not see arguments and results of tools with toolDetails: false', async () => {
    const { agent } = scriptedAgent([{ toolCalls: [{ name: 'look', arguments: { secret: 7 } }] }, 'done'], {
      tools: [look],
    });
    const handler = served(agent, { toolDetails: false });
    const page = openPage(handler);
    await page.chat.sendMessage({ text: 'go' });
    const saved = await (
      await handler(new Request('http://localhost/api/chat/chat-1', { headers: { 'x-user': 'ada' } }))
    ).text();
    for (const shown of [JSON.stringify(page.chat.messages), saved]) {
      expect(shown).toContain('look');
      expect(shown).not.toMatch(/secret|a cat|half/);
    }
  });

  test('reads that a run failed, without details for the operator', async () => {
    const error = new Error('connect ECONNREFUSED 10.0.0.7');
    const page = openPage(served(scriptedAgent([{ error }]).agent));
    await page.chat.sendMessage({ text: 'go' });
    expect(page.errors).toEqual(['The agent failed (MODEL_FAILED); its log says why.']);
    expect(page.chat.status).toBe('error');
  });
});

describe('an approval', () => {
  test('is a part that can be answered, and the message continues', async () => {
    const { erased, calls, options } = eraser();
    const page = openPage(served(scriptedAgent([calls(7), 'It is gone.'], options).agent));
    await page.chat.sendMessage({ text: 'Erase 7' });
    expect(lastParts(page)).toEqual([
      step,
      expect.objectContaining({ state: 'approval-requested', toolName: 'erase', input: { id: 7 } }),
    ]);
    expect(erased).toEqual([]);
    await answerQuestion(page, true);
    await expect.poll(() => page.chat.status).toBe('ready');
    await expect.poll(() => lastText(page)).toBe('It is gone.');
    expect(erased).toEqual([7]);
    expect(page.chat.messages).toHaveLength(2);
    expect(lastParts(page)[1]).toMatchObject({ state: 'output-available', output: 'erased 1' });
  });

  test('that is denied prevents the call, and the model reads the reason', async () => {
    const { erased, calls, options } = eraser();
    const { agent, model } = scriptedAgent([calls(7), 'Then not.'], options);
    const page = openPage(served(agent));
    await page.chat.sendMessage({ text: 'Erase 7' });
    await answerQuestion(page, false, 'too early');
    await expect.poll(() => lastText(page)).toBe('Then not.');
    expect(erased).toEqual([]);
    expect(lastParts(page)[1]).toMatchObject({ state: 'output-denied' });
    expect(JSON.stringify(model.calls[1]?.prompt)).toContain('too early');
  });

  test('for several calls ends the response only when no other call is in progress', async () => {
    const { erased, options } = eraser();
    const slow = Promise.withResolvers<string>();
    const wait = tool({
      name: 'wait',
      description: 'Waits',
      annotations: { readOnlyHint: true },
      run: () => slow.promise,
    });
    const toolCalls = [
      { name: 'erase', arguments: { id: 1 } },
      { name: 'wait' },
      { name: 'erase', arguments: { id: 2 } },
    ];
    const all = { ...options, tools: [...options.tools, wait] };
    const page = openPage(served(scriptedAgent([{ toolCalls }, 'done'], all).agent));
    const sent = page.chat.sendMessage({ text: 'go' });
    await expect
      .poll(() => lastParts(page).filter((part) => Object(part).state === 'approval-requested').length)
      .toBe(2);
    expect(page.chat.status).toBe('streaming');
    slow.resolve('waited');
    await sent;
    const asked = page.chat.lastMessage?.parts.flatMap((part) =>
      'approval' in part && part.approval ? [part.approval.id] : [],
    );
    for (const id of asked ?? []) await page.chat.addToolApprovalResponse({ id, approved: true });
    await expect.poll(() => lastText(page)).toBe('done');
    expect(erased).toEqual([1, 2]);
  });

  test.each([true, false])(
    'of a sub-agent reaches the page, too; the call of the sub-agent needs one: %s',
    async (asksParent) => {
      const { erased, calls, options } = eraser();
      const child = new PocketAgent({
        name: 'Cleaner',
        llmModel: new ScriptedModel([calls(3), 'cleaned']),
        tools: options.tools,
        logger: silent,
      });
      const ask = { toolCalls: [{ name: 'Cleaner-message', arguments: { message: 'Erase 3' } }] };
      const confirm = ({ name }: { name: string }) => name === 'erase' || asksParent;
      const { agent } = scriptedAgent([ask, 'All clean.'], { subAgents: [child], access: { confirm } });
      const page = openPage(served(agent));
      await page.chat.sendMessage({ text: 'Clean up' });
      if (asksParent) await answerQuestion(page, true);
      await expect.poll(() => lastParts(page).at(-1)).toMatchObject({ toolName: 'erase', state: 'approval-requested' });
      await answerQuestion(page, true);
      await expect.poll(() => lastText(page)).toBe('All clean.');
      expect(erased).toEqual([3]);
    },
  );

  test('is cancelled when the user writes something else, and the history stays valid', async () => {
    const { erased, calls, options } = eraser();
    const agents: PocketAgent[] = [];
    const { agent } = scriptedAgent([calls(7), 'Fine.'], options);
    const fork = agent.fork.bind(agent);
    agent.fork = () => {
      const made = fork();
      agents.push(made);
      return made;
    };
    const page = openPage(served(agent));
    await page.chat.sendMessage({ text: 'Erase 7' });
    await page.chat.sendMessage({ text: 'Never mind' });
    expect(lastText(page)).toBe('Fine.');
    expect(erased).toEqual([]);
    for (const each of agents) expectValidHistory(each);
  });

  test('stays open when a page that does not show the saved messages is refused', async () => {
    const { erased, calls, options } = eraser();
    const handler = served(scriptedAgent([calls(7), 'It is gone.'], options).agent);
    const page = openPage(handler);
    await page.chat.sendMessage({ text: 'Erase 7' });
    expect(await repeatElsewhere(handler)).toEqual(['POST /api/chat 409']);
    await answerQuestion(page, true);
    await expect.poll(() => lastText(page)).toBe('It is gone.');
    expect(erased).toEqual([7]);
  });

  test('survives a reload of the page', async () => {
    const { erased, calls, options } = eraser();
    const handler = served(scriptedAgent([calls(7), 'It is gone.'], options).agent);
    await openPage(handler).chat.sendMessage({ text: 'Erase 7' });
    const reloaded = openPage(handler);
    await reloaded.chat.resumeStream();
    await answerQuestion(reloaded, true);
    await expect.poll(() => lastText(reloaded)).toBe('It is gone.');
    expect(erased).toEqual([7]);
  });
});

describe('a form of an MCP server', () => {
  const formOf = (page: ReturnType<typeof openPage>) => {
    const part = page.chat.lastMessage?.parts.find(({ type }) => type === 'data-form');
    return Object(part).data as { id: string; state: string };
  };

  test.each([
    ['accept', { day: 'Monday' }, 'Booked for Monday', 'answered'],
    ['decline', undefined, 'not booked: decline', 'declined'],
  ])('is a part that the page answers: %s', async (action, content, output, state) => {
    const page = openPage(served(scriptedAgent(bookingScript, booking).agent));
    await page.chat.sendMessage({ text: 'Book' });
    expect(page.errors).toEqual([]);
    expect(page.chat.status).toBe('ready');
    expect(formOf(page)).toMatchObject({
      state: 'open',
      server: 'asker',
      message: 'Which day?',
      schema: requestedSchema,
    });
    await page.chat.sendMessage(undefined, { body: { forms: [{ id: formOf(page).id, action, content }] } });
    expect(lastText(page)).toBe('Done.');
    expect(page.chat.messages).toHaveLength(2);
    expect(formOf(page).state).toBe(state);
    expect(lastParts(page)).toContainEqual(expect.objectContaining({ state: 'output-available', output }));
    await page.chat.sendMessage(undefined, { body: { forms: [{ id: formOf(page).id, action }] } });
    expect(page.requests.at(-1)).toBe('POST /api/chat 409');
  });

  test('is closed when the user writes something else, and is never shown with approvals: own', async () => {
    const page = openPage(served(scriptedAgent([...bookingScript, 'Fine.'], booking).agent));
    await page.chat.sendMessage({ text: 'Book' });
    await page.chat.sendMessage({ text: 'Never mind' });
    expect(lastText(page)).toBe('Done.');
    const own = openPage(served(scriptedAgent(bookingScript, booking).agent, { approvals: 'own' }));
    await own.chat.sendMessage({ text: 'Book' });
    expect(lastParts(own)).toContainEqual(expect.objectContaining({ output: 'not booked: cancel' }));
    expect(formOf(own)).toBeUndefined();
  });

  test('with an invalid answer is refused', async () => {
    const page = openPage(served(scriptedAgent(bookingScript, booking).agent));
    await page.chat.sendMessage({ text: 'Book' });
    await page.chat.sendMessage(undefined, { body: { forms: [{ id: formOf(page).id, action: 'maybe' }] } });
    expect(page.errors.join()).toContain('An entry of \\"forms\\"');
  });
});

describe('a lost connection', () => {
  const script = () => [{ reasoning: 'Hm, a cat?', toolCalls: [{ name: 'look' }] }, { text: 'One. Two. Three.' }];

  test('is resumed after any event, with the same message and without running anything twice', async () => {
    const whole = openPage(served(scriptedAgent(script(), { tools: [look] }).agent));
    await whole.chat.sendMessage({ text: 'go' });
    const expected = lastParts(whole);
    expect(expected).toHaveLength(6);
    for (let cutAfter = 0; cutAfter < 22; cutAfter++) {
      const { agent, model } = scriptedAgent(script(), { tools: [look] });
      const page = openPage(served(agent), { cutAfter });
      await page.chat.sendMessage({ text: 'go' });
      if (page.chat.status === 'error') await page.chat.resumeStream();
      expect(lastParts(page), `cut after ${cutAfter} events`).toEqual(expected);
      expect(page.chat.messages).toHaveLength(2);
      expect(model.calls).toHaveLength(2);
    }
  });

  test('does not lose an open question, at any event', async () => {
    for (let cutAfter = 0; cutAfter < 6; cutAfter++) {
      const { erased, calls, options } = eraser();
      const page = openPage(served(scriptedAgent([calls(7), 'It is gone.'], options).agent), { cutAfter });
      await page.chat.sendMessage({ text: 'Erase 7' });
      if (page.chat.status === 'error') await page.chat.resumeStream();
      await answerQuestion(page, true);
      await expect.poll(() => lastText(page)).toBe('It is gone.');
      expect(erased).toEqual([7]);
    }
  });

  test('that is not resumed aborts the run after abandonMs', async () => {
    const hooks = recordEvents();
    const { agent } = scriptedAgent([{ text: 'late', delayMs: 600_000 }], { hooks });
    const page = openPage(served(agent, { abandonMs: 20 }), { cutAfter: 1 });
    await page.chat.sendMessage({ text: 'go' });
    await expect.poll(() => hooks.types()).toContain('run_failed');
  });
});

describe('stopping', () => {
  test('DELETE ends the run, and the conversation can continue', async () => {
    const { agent } = scriptedAgent([{ text: 'late', delayMs: 600_000 }, 'here']);
    const handler = served(agent);
    const page = openPage(handler);
    const sent = page.chat.sendMessage({ text: 'go' });
    await expect.poll(() => page.requests.length).toBe(1);
    const stop = new Request('http://localhost/api/chat/chat-1/stream', {
      method: 'DELETE',
      headers: { 'x-user': 'ada' },
    });
    expect((await handler(stop)).status).toBe(204);
    await sent;
    await page.chat.sendMessage({ text: 'again' });
    expect(lastText(page)).toBe('here');
  });

  test('another tab is told that the conversation is still being answered', async () => {
    const { agent } = scriptedAgent([{ text: 'late', delayMs: 600_000 }]);
    const handler = served(agent);
    const first = openPage(handler);
    void first.chat.sendMessage({ text: 'go' });
    await expect.poll(() => first.requests.length).toBe(1);
    const second = openPage(handler);
    await second.chat.sendMessage({ text: 'me too' });
    expect(second.requests).toEqual(['POST /api/chat 409']);
    await first.chat.stop();
  });
});

describe('repeating', () => {
  test('an answer replaces its turn', async () => {
    const { agent, model } = scriptedAgent(['first', 'second', 'third', ({ prompt }) => `${prompt.length} messages`]);
    const page = openPage(served(agent));
    for (const said of ['one', 'two', 'three']) await page.chat.sendMessage({ text: said });
    await page.chat.regenerate();
    expect(lastText(page)).toBe('5 messages');
    expect(model.calls[3]?.prompt.at(-1)).toMatchObject({ content: [{ text: 'three' }] });
  });

  test('an edited question removes all later turns', async () => {
    const { agent } = scriptedAgent(['first', 'second', ({ prompt }) => `${prompt.length} message`]);
    const page = openPage(served(agent));
    for (const said of ['one', 'two']) await page.chat.sendMessage({ text: said });
    await page.chat.sendMessage({ text: 'other', messageId: page.chat.messages[0]?.id ?? '' });
    expect(lastText(page)).toBe('1 message');
  });

  test('is refused for a page that does not show the saved messages', async () => {
    const { agent } = scriptedAgent(['first', 'second', 'third']);
    const handler = served(agent);
    const page = openPage(handler);
    for (const said of ['one', 'two']) await page.chat.sendMessage({ text: said });
    const messages = [
      { id: 'x', role: 'user' as const, parts: [{ type: 'text' as const, text: 'unlike the first' }] },
      { id: 'y', role: 'user' as const, parts: [{ type: 'text' as const, text: 'again' }] },
    ];
    const other = openPage(handler, { messages });
    await other.chat.regenerate();
    expect(other.errors).toEqual([expect.stringContaining('load them first')]);
  });
});

describe('saved conversations', () => {
  test('are shown and continued after a restart', async () => {
    await using chats = await openConversations(':memory:');
    const first = scriptedAgent([{ toolCalls: [{ name: 'look' }] }, 'A cat.'], { tools: [look] });
    const page = openPage(served(first.agent, { conversations: chats }));
    await page.chat.sendMessage({ text: 'What is it?' });
    const second = scriptedAgent([({ prompt }) => `${prompt.length} messages`], { tools: [look] });
    const handler = served(second.agent, { conversations: chats });
    const read = async (user: string) => {
      const request = new Request('http://localhost/api/chat/chat-1', { headers: { 'x-user': user } });
      return (await (await handler(request)).json()) as { messages: UIMessage[] };
    };
    const { messages } = await read('ada');
    const reloaded = openPage(handler, { messages });
    expect(lastParts(reloaded)).toEqual([
      step,
      {
        type: 'dynamic-tool',
        toolCallId: 'call-1',
        toolName: 'look',
        state: 'output-available',
        input: {},
        output: 'a cat',
      },
      step,
      text('A cat.'),
    ]);
    await reloaded.chat.sendMessage({ text: 'Sure?' });
    expect(lastText(reloaded)).toBe('5 messages');
    expect(reloaded.chat.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
    expect((await read('eve')).messages).toEqual([]);
  });
});

describe('another caller', () => {
  test('cannot read, resume, stop or answer a conversation, even with its ids', async () => {
    const { erased, calls, options } = eraser();
    const handler = served(scriptedAgent([calls(7), 'It is gone.'], options).agent);
    const page = openPage(handler);
    await page.chat.sendMessage({ text: 'Erase 7' });
    const eve = openPage(handler, { user: 'eve', messages: structuredClone(page.chat.messages) });
    await eve.chat.resumeStream();
    await answerQuestion(eve, true);
    await expect.poll(() => eve.requests).toEqual(['GET /api/chat/chat-1/stream 204', 'POST /api/chat 409']);
    const as = (user: string, path: string, method = 'GET') =>
      handler(new Request(`http://localhost/api/chat/${path}`, { method, headers: { 'x-user': user } }));
    expect(await (await as('eve', 'chat-1')).json()).toEqual({ messages: [] });
    expect((await as('eve', 'chat-1/stream', 'DELETE')).status).toBe(204);
    expect(erased).toEqual([]);
    await answerQuestion(page, true);
    await expect.poll(() => lastText(page)).toBe('It is gone.');
  });

  test('is known to tools, hooks and audit, with the profile that authorize gives', async () => {
    const { agent } = scriptedAgent([{ toolCalls: [{ name: 'whoami' }, { name: 'drop' }] }, 'done'], {
      tools: [
        tool({
          name: 'whoami',
          description: 'Who',
          annotations: { readOnlyHint: true },
          run: (_args, { caller, metadata }) => JSON.stringify([caller, metadata]),
        }),
        tool({ name: 'drop', description: 'Drops', run: () => 'dropped' }),
      ],
    });
    const handler = served(agent, {
      authorize: () => ({ id: 'ada', profile: 'reader', metadata: { tenant: 'acme' } }),
    });
    const page = openPage(handler);
    await page.chat.sendMessage({ text: 'go' });
    const [, who, drop] = lastParts(page);
    expect(who).toMatchObject({ output: '["ada",{"tenant":"acme"}]' });
    expect(drop).toMatchObject({ state: 'output-error' });
  });
});

describe('a request', () => {
  const post = (body: unknown, headers: Record<string, string> = {}) =>
    new Request('http://localhost/api/chat', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-user': 'ada', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  const user = { id: 'u', role: 'user', parts: [{ type: 'text', text: 'hello' }] };

  test.each([
    ['without a caller', () => post({ id: 'c', messages: [user] }, { 'x-user': '' }), 401, 'Sign in first.'],
    [
      'that a form of another site could send',
      () => post('x', { 'content-type': 'text/plain' }),
      415,
      'application/json',
    ],
    ['that is not JSON', () => post('{'), 400, 'not valid JSON'],
    ['without an id', () => post({ messages: [user] }), 400, 'must be the id'],
    ['without messages', () => post({ id: 'c' }), 400, 'must be a list'],
    [
      'that ends with an answer',
      () => post({ id: 'c', messages: [{ ...user, role: 'assistant' }] }),
      400,
      'come from the user',
    ],
    ['that is too large', () => post({ id: 'c', messages: [user], more: 'x'.repeat(2_000) }), 413, '1000 bytes'],
    ['with a very long id', () => post({ id: 'c'.repeat(600), messages: [user] }), 400, '512 characters'],
  ])('%s is refused', async (_what, request, status, says) => {
    const response = await served(scriptedAgent([]).agent, { maxBodyBytes: 1_000 })(request());
    expect(response.status).toBe(status);
    expect(await response.text()).toContain(says);
  });

  test('is refused by the response of authorize', async () => {
    const handler = served(scriptedAgent([]).agent, { authorize: () => Response.redirect('http://localhost/login') });
    expect((await handler(post({}))).headers.get('location')).toBe('http://localhost/login');
  });

  test('is refused beyond the limit of a caller', async () => {
    const { agent } = scriptedAgent([{ text: 'late', delayMs: 600_000 }]);
    const handler = served(agent, { maxRunsPerCaller: 1 });
    const first = await handler(post({ id: 'one', messages: [user] }));
    expect((await handler(post({ id: 'two', messages: [user] }))).status).toBe(429);
    await first.body?.cancel();
  });

  test.each([{ maxRunsPerCaller: 1 }, { maxRuns: 1 }])(
    'is refused beyond %j, also if many arrive at once',
    async (limit) => {
      const { agent, model } = scriptedAgent(Array.from({ length: 20 }, () => ({ text: 'late', delayMs: 600_000 })));
      const handler = served(agent, limit);
      const asked = Array.from({ length: 20 }, (_, index) => handler(post({ id: `chat-${index}`, messages: [user] })));
      const statuses = (await Promise.all(asked)).map(({ status }) => status).sort();
      expect(statuses).toEqual([200, ...Array.from({ length: 19 }, () => 429)]);
      await expect.poll(() => model.calls).toHaveLength(1);
    },
  );

  test('is refused after the agent was closed', async () => {
    const { agent } = scriptedAgent([]);
    const handler = served(agent);
    await agent.close();
    expect((await handler(post({ id: 'c', messages: [user] }))).status).toBe(503);
  });

  test('wrong options are named', () => {
    const { agent } = scriptedAgent([]);
    onTestFinished(() => agent.close());
    expect(() => served(agent, { authorize: 'ada' as never })).toThrow('authorize must be a function');
    expect(() => served(agent, { autorize: authorize } as never)).toThrow('authorize');
  });
});
