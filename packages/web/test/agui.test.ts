// An agent behind AG-UI, read by the client of that protocol.
import { openConversations } from '@pocket-agent/store';
import { PocketAgent, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { scriptedAgent, silent } from '../../pocket-agent/test/helpers.ts';
import { PageAgent, servedAgui } from './agui-page.ts';
import { booking, bookingScript, requestedSchema } from './asker.ts';

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
  const erase = tool({
    name: 'erase',
    description: 'Erases',
    run: ({ id }) => {
      erased.push(id);
      return `erased ${id}`;
    },
  });
  const calls = (...ids: number[]) => ({ toolCalls: ids.map((id) => ({ name: 'erase', arguments: { id } })) });
  return { erased, calls, options: { tools: [erase], access: { confirm: 'destructive' as const } } };
}

/** Streams one delta of a kind, and the rest after `release()`. */
class HeldModel extends ScriptedModel {
  readonly #released = Promise.withResolvers<void>();
  readonly release = this.#released.resolve;
  readonly #held: string;

  constructor(script: ConstructorParameters<typeof ScriptedModel>[0], held: string) {
    super(script);
    this.#held = held;
  }

  override async doStream(...options: Parameters<ScriptedModel['doStream']>) {
    const result = await super.doStream(...options);
    let deltas = 0;
    const hold = new TransformStream({
      transform: async (part: { type: string }, controller) => {
        if (part.type === this.#held && ++deltas === 2) await this.#released.promise;
        controller.enqueue(part);
      },
    });
    return { ...result, stream: result.stream.pipeThrough(hold) };
  }
}

describe('a client of AG-UI', () => {
  test('sees reasoning, tool calls with progress and results, sources, text, usage and its own run id', async () => {
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
    const page = new PageAgent(servedAgui(scriptedAgent(script, { tools: [look] }).agent));
    const finished: unknown[] = [];
    page.subscribe({ onRunFinishedEvent: ({ event }) => void finished.push(event) });
    expect(await page.ask('What is it?', { runId: 'run-1' })).toBe('It is a cat.');
    expect(page.messages).toEqual([
      { id: 'user-0', role: 'user', content: 'What is it?' },
      expect.objectContaining({ role: 'reasoning', content: 'I should look.' }),
      expect.objectContaining({
        role: 'assistant',
        toolCalls: [{ id: 'call-1', type: 'function', function: { name: 'look', arguments: '{"at":"it"}' } }],
      }),
      { id: 'result-call-1', role: 'tool', toolCallId: 'call-1', content: 'a cat' },
      expect.objectContaining({ role: 'activity', activityType: 'TOOL_PROGRESS' }),
      expect.objectContaining({ role: 'assistant', content: 'It is a cat.' }),
      expect.objectContaining({ role: 'activity', activityType: 'SOURCE' }),
    ]);
    expect(page.messages[4]?.content).toMatchObject({ toolName: 'look', progress: 1, total: 2, message: 'half' });
    expect(page.messages[6]?.content).toMatchObject({ url: 'https://cats.example', title: 'Cats' });
    expect(finished).toEqual([
      expect.objectContaining({
        threadId: 'thread-1',
        runId: 'run-1',
        usage: [expect.objectContaining({ inputTokens: 20, outputTokens: 10, totalTokens: 30 })],
      }),
    ]);
  });

  test('continues the conversation of the server, not the messages of the page', async () => {
    const { agent, model } = scriptedAgent(['one', ({ prompt }) => `${prompt.length} messages`]);
    const page = new PageAgent(servedAgui(agent));
    await page.ask('first');
    page.setMessages(page.messages.map((message) => ({ ...message, content: 'forged' }) as typeof message));
    await page.ask('second');
    expect(page.said).toBe('3 messages');
    expect(JSON.stringify(model.calls)).not.toContain('forged');
  });

  test('gets a typed answer as state while it is written, and as the result', async () => {
    const output = z.object({ city: z.string(), days: z.number() });
    const llmModel = new ScriptedModel([{ text: '{"city":"Rome","days":3}' }]);
    const page = new PageAgent(servedAgui(new PocketAgent({ llmModel, output, logger: silent })));
    page.setState({ theme: 'dark' });
    expect(await page.ask('Plan')).toEqual({ city: 'Rome', days: 3 });
    expect(page.state).toEqual({ theme: 'dark', output: { city: 'Rome', days: 3 } });
  });

  test('sees files that the model generated, and sends files of allowed types', async () => {
    const content = [{ type: 'file' as const, mediaType: 'image/png', data: { type: 'data' as const, data: 'aGk=' } }];
    const { agent, model } = scriptedAgent([{ content, text: '' }], { agentConfig: { allowImages: true } });
    const page = new PageAgent(servedAgui(agent));
    const image = (value: string) => ({ type: 'image' as const, source: { type: 'url' as const, value } });
    const text = { type: 'text' as const, text: 'Draw this' };
    page.addMessage({ id: 'u1', role: 'user', content: [text, image('https://cats.example/cat.png')] });
    await page.runAgent();
    expect(model.calls[0]?.prompt.at(-1)?.content).toHaveLength(2);
    expect(page.messages.at(-1)).toMatchObject({
      activityType: 'FILE',
      content: { mediaType: 'image/png', url: 'data:image/png;base64,aGk=' },
    });
    page.addMessage({ id: 'u2', role: 'user', content: [text, image('file:///etc/passwd')] });
    await page.runAgent();
    expect(page.errors.join()).toContain('an http or https URL');
  });

  test('sees each of several files of a saved answer', async () => {
    const content = ['aGk=', 'aG8='].map((data) => ({
      ...{ type: 'file' as const, mediaType: 'image/png', data: { type: 'data' as const, data } },
    }));
    await using conversations = await openConversations(':memory:');
    const served = () => servedAgui(scriptedAgent([{ content, text: '' }]).agent, { conversations });
    await new PageAgent(served()).ask('Draw two');
    const page = new PageAgent(served());
    await page.connectAgent();
    const files = page.messages.filter(({ role }) => role === 'activity');
    expect(files.map((file) => file.content)).toEqual([
      { mediaType: 'image/png', url: 'data:image/png;base64,aGk=' },
      { mediaType: 'image/png', url: 'data:image/png;base64,aG8=' },
    ]);
    expect(new Set(files.map(({ id }) => id)).size).toBe(2);
  });

  test('does not see arguments and results of tools with toolDetails: false', async () => {
    const { calls, options } = eraser();
    const access = { confirm: ({ name }: { name: string }) => name === 'erase' };
    const script = [{ toolCalls: [{ name: 'look', arguments: { secret: 7 } }] }, calls(7_777), 'done'];
    const { agent } = scriptedAgent(script, { tools: [look, ...options.tools], access });
    const handler = servedAgui(agent, { toolDetails: false });
    const page = new PageAgent(handler);
    await page.ask('go');
    const asked = JSON.stringify(page.pendingInterrupts);
    await page.answer({ approved: true });
    const saved = new PageAgent(handler);
    await saved.connectAgent();
    for (const shown of [asked, JSON.stringify(page.messages), JSON.stringify(saved.messages)]) {
      expect(shown).toContain('erase');
      expect(shown).not.toMatch(/secret|a cat|half|7777/);
    }
  });

  test('reads that a run failed, without details for the operator', async () => {
    const error = new Error('connect ECONNREFUSED 10.0.0.7');
    const page = new PageAgent(servedAgui(scriptedAgent([{ error }]).agent));
    await page.ask('go');
    expect(page.errors).toEqual(['The agent failed (MODEL_FAILED); its log says why.']);
  });
});

describe('a form of an MCP server', () => {
  test.each([
    [{ day: 'Monday' }, 'Booked for Monday'],
    [undefined, 'not booked: decline'],
  ])('is an interrupt whose payload has the fields: %j', async (payload, result) => {
    const page = new PageAgent(servedAgui(scriptedAgent(bookingScript, booking).agent));
    await page.ask('Book');
    const [interrupt] = page.pendingInterrupts;
    expect(interrupt).toMatchObject({
      reason: 'input_required',
      message: 'Which day?',
      toolCallId: 'call-1',
      responseSchema: requestedSchema,
      metadata: { server: 'asker' },
    });
    await page.runAgent({ resume: [{ interruptId: interrupt?.id ?? '', status: 'resolved', payload }] });
    expect(page.errors).toEqual([]);
    expect(page.said).toBe('Done.');
    expect(page.messages.find(({ role }) => role === 'tool')?.content).toBe(result);
  });

  test('never allows a call, whatever its fields are', async () => {
    const { erased, calls, options } = eraser();
    const page = new PageAgent(servedAgui(scriptedAgent([calls(7), 'Then not.'], options).agent));
    await page.ask('Erase 7');
    await page.answer({ day: 'Monday' });
    expect(page.requests.at(-1)).toBe('POST /agui 409');
    expect(erased).toEqual([]);
  });
});

describe('an interrupt', () => {
  test('asks for an approval, and the answer continues the run', async () => {
    const { erased, calls, options } = eraser();
    const page = new PageAgent(servedAgui(scriptedAgent([calls(7), 'It is gone.'], options).agent));
    await page.ask('Erase 7');
    expect(page.pendingInterrupts).toEqual([
      expect.objectContaining({
        reason: 'tool_call',
        toolCallId: 'call-1',
        message: 'May erase run?',
        metadata: { tool: 'erase', capability: 'delete', path: ['Tester'], arguments: { id: 7 } },
      }),
    ]);
    expect(erased).toEqual([]);
    await page.answer({ approved: true });
    expect(erased).toEqual([7]);
    expect(page.said).toBe('It is gone.');
    expect(page.pendingInterrupts).toEqual([]);
    expect(page.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
  });

  test('that is denied prevents the call, and the model reads the reason', async () => {
    const { erased, calls, options } = eraser();
    const { agent, model } = scriptedAgent([calls(7), 'Then not.'], options);
    const page = new PageAgent(servedAgui(agent));
    await page.ask('Erase 7');
    await page.answer({ approved: false, reason: 'too early' });
    expect(erased).toEqual([]);
    expect(page.said).toBe('Then not.');
    expect(page.messages.at(-2)).toMatchObject({ role: 'tool', metadata: { isError: true } });
    expect(JSON.stringify(model.calls[1]?.prompt)).toContain('too early');
  });

  test('can be answered with other arguments', async () => {
    const { erased, calls, options } = eraser();
    const page = new PageAgent(servedAgui(scriptedAgent([calls(7), 'done'], options).agent));
    await page.ask('Erase 7');
    await page.answer({ approved: true, editedArgs: { id: 8 } });
    expect(erased).toEqual([8]);
  });

  test('for several calls arrives once, with all of them', async () => {
    const { erased, calls, options } = eraser();
    const page = new PageAgent(servedAgui(scriptedAgent([calls(1, 2), 'done'], options).agent));
    await page.ask('go');
    const resume = page.pendingInterrupts.map(({ id, metadata }) => ({
      interruptId: id,
      status: 'resolved' as const,
      payload: { approved: metadata?.arguments.id === 2 },
    }));
    expect(resume).toHaveLength(2);
    await page.runAgent({ resume });
    expect(page.said).toBe('done');
    expect(erased).toEqual([2]);
  });

  test('of a sub-agent reaches the page, too', async () => {
    const { erased, calls, options } = eraser();
    const child = new PocketAgent({
      name: 'Cleaner',
      llmModel: new ScriptedModel([calls(3), 'cleaned']),
      tools: options.tools,
      logger: silent,
    });
    const ask = { toolCalls: [{ name: 'Cleaner-message', arguments: { message: 'Erase 3' } }] };
    const confirm = ({ name }: { name: string }) => name === 'erase';
    const { agent } = scriptedAgent([ask, 'All clean.'], { subAgents: [child], access: { confirm } });
    const page = new PageAgent(servedAgui(agent));
    await page.ask('Clean up');
    expect(page.pendingInterrupts[0]?.metadata).toMatchObject({ tool: 'erase', path: ['Tester', 'Cleaner'] });
    await page.answer({ approved: true });
    expect(page.said).toBe('All clean.');
    expect(erased).toEqual([3]);
  });

  test('is cancelled when the user cancels it and writes something else', async () => {
    const { erased, calls, options } = eraser();
    const page = new PageAgent(servedAgui(scriptedAgent([calls(7), 'Fine.'], options).agent));
    await page.ask('Erase 7');
    const resume = page.pendingInterrupts.map(({ id }) => ({ interruptId: id, status: 'cancelled' as const }));
    await page.ask('Never mind', { resume });
    expect(page.said).toBe('Fine.');
    expect(erased).toEqual([]);
  });

  test('survives a reload of the page', async () => {
    const { erased, calls, options } = eraser();
    const handler = servedAgui(scriptedAgent([calls(7), 'It is gone.'], options).agent);
    await new PageAgent(handler).ask('Erase 7');
    const reloaded = new PageAgent(handler);
    await reloaded.connectAgent();
    await reloaded.answer({ approved: true });
    expect(reloaded.said).toBe('It is gone.');
    expect(erased).toEqual([7]);
  });

  test('that is no longer open is refused with a message', async () => {
    const { calls, options } = eraser();
    const handler = servedAgui(scriptedAgent([calls(7), 'done'], options).agent);
    const page = new PageAgent(handler);
    await page.ask('Erase 7');
    const other = new PageAgent(handler);
    await other.connectAgent();
    await other.answer({ approved: true });
    await page.answer({ approved: true });
    expect(page.errors.join()).toContain('no longer open');
    page.pendingInterrupts = [];
    await page.connectAgent();
    expect(page.said).toBe('done');
  });
});

describe('a lost connection', () => {
  const script = () => [
    { reasoning: 'Hm, a cat?', toolCalls: [{ name: 'look' }] },
    { reasoning: 'Yes.', text: 'One. Two. Three.' },
  ];

  test('is followed by connecting again, after any event, without running anything twice', async () => {
    const whole = new PageAgent(servedAgui(scriptedAgent(script(), { tools: [look] }).agent));
    await whole.ask('go');
    expect(whole.shown).toHaveLength(7);
    const count = whole.events.length;
    for (let cutAfter = 0; cutAfter < count; cutAfter++) {
      const { agent, model } = scriptedAgent(script(), { tools: [look] });
      const page = new PageAgent(servedAgui(agent), { cutAfter });
      await page.ask('go');
      expect(page.errors, `cut after ${cutAfter} of ${count} events`).toHaveLength(1);
      await page.connectAgent();
      expect(page.shown, `cut after ${cutAfter} events`).toEqual(whole.shown);
      expect(model.calls).toHaveLength(2);
    }
  });

  test('does not lose an open question, at any event', async () => {
    for (let cutAfter = 0; cutAfter < 5; cutAfter++) {
      const { erased, calls, options } = eraser();
      const page = new PageAgent(servedAgui(scriptedAgent([calls(7), 'It is gone.'], options).agent), { cutAfter });
      await page.ask('Erase 7');
      await page.connectAgent();
      await page.answer({ approved: true });
      expect(page.said).toBe('It is gone.');
      expect(erased).toEqual([7]);
    }
  });

  test.each(['text', 'reasoning'] as const)('in the middle of %s does not split the message', async (kind) => {
    const model = new HeldModel(
      [{ [kind]: 'One. Two.', ...(kind === 'text' ? {} : { text: 'Done.' }) }],
      `${kind}-delta`,
    );
    const page = new PageAgent(servedAgui(new PocketAgent({ llmModel: model, logger: silent })), {
      cutAfter: kind === 'text' ? 3 : 4,
    });
    await page.ask('go');
    const connected = page.connectAgent();
    await expect.poll(() => page.events.filter((type) => type === 'MESSAGES_SNAPSHOT')).toHaveLength(1);
    model.release();
    await connected;
    expect(page.messages[1]).toMatchObject({ content: 'One. Two.' });
    expect(page.messages).toHaveLength(kind === 'text' ? 2 : 3);
  });

  test('can also be followed by sending the same run again', async () => {
    const { agent, model } = scriptedAgent(['once', 'twice']);
    const page = new PageAgent(servedAgui(agent), { cutAfter: 2 });
    await page.ask('go', { runId: 'run-1' });
    await page.runAgent({ runId: 'run-1' });
    expect(page.said).toBe('once');
    expect(model.calls).toHaveLength(1);
  });
});

describe('a conversation', () => {
  test('is stopped by DELETE: the client reads that it was cancelled', async () => {
    const { agent } = scriptedAgent([{ text: 'late', delayMs: 600_000 }, 'here']);
    const handler = servedAgui(agent);
    const page = new PageAgent(handler);
    const outcomes: string[] = [];
    page.subscribe({ onRunFinishedEvent: ({ outcome }) => void outcomes.push(outcome) });
    const asked = page.ask('go');
    await expect.poll(() => page.requests).toEqual(['POST /agui 200']);
    const stop = (user: string) =>
      handler(new Request('http://localhost/agui/thread-1', { method: 'DELETE', headers: { 'x-user': user } }));
    expect((await stop('eve')).status).toBe(204);
    expect(outcomes).toEqual([]);
    expect((await stop('ada')).status).toBe(204);
    await asked;
    expect(outcomes).toEqual(['cancelled']);
    await page.ask('again');
    expect(page.said).toBe('here');
  });

  test('with forwardedProps.repeat loses the later turns', async () => {
    const { agent } = scriptedAgent(['first', 'second', ({ prompt }) => `${prompt.length} message`]);
    const page = new PageAgent(servedAgui(agent));
    await page.ask('one');
    await page.ask('two');
    page.setMessages([]);
    await page.ask('other', { forwardedProps: { repeat: true } });
    expect(page.said).toBe('1 message');
  });

  test('is shown and continued after a restart, and only to its owner', async () => {
    await using chats = await openConversations(':memory:');
    const first = scriptedAgent([{ reasoning: 'Hm.', toolCalls: [{ name: 'look' }] }, 'A cat.'], { tools: [look] });
    await new PageAgent(servedAgui(first.agent, { conversations: chats })).ask('What is it?');
    const second = scriptedAgent([({ prompt }) => `${prompt.length} messages`], { tools: [look] });
    const handler = servedAgui(second.agent, { conversations: chats });
    const page = new PageAgent(handler);
    await page.connectAgent();
    expect(page.messages.map(({ role }) => role)).toEqual(['user', 'reasoning', 'assistant', 'tool', 'assistant']);
    expect(page.said).toBe('A cat.');
    await page.ask('Sure?');
    expect(page.said).toBe('5 messages');
    const eve = new PageAgent(handler, { user: 'eve' });
    await eve.connectAgent();
    expect(eve.messages).toEqual([]);
  });

  test('cannot be answered by another caller, even with its ids', async () => {
    const { erased, calls, options } = eraser();
    const handler = servedAgui(scriptedAgent([calls(7), 'It is gone.'], options).agent);
    const page = new PageAgent(handler);
    await page.ask('Erase 7');
    const eve = new PageAgent(handler, { user: 'eve' });
    eve.pendingInterrupts = page.pendingInterrupts;
    await eve.answer({ approved: true });
    expect(eve.requests).toEqual(['POST /agui 409']);
    expect(erased).toEqual([]);
  });
});

describe('a request', () => {
  const post = (body: object, headers: Record<string, string> = {}) =>
    new Request('http://localhost/agui', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-user': 'ada', ...headers },
      body: JSON.stringify(body),
    });
  const input = { threadId: 't', runId: 'r', messages: [{ id: 'u', role: 'user', content: 'hello' }] };
  const resume = [{ interruptId: 'x', status: 'resolved', payload: { approved: true } }];

  test.each([
    ['without a caller', () => post(input, { 'x-user': '' }), 401, 'Sign in first.'],
    ['without a thread', () => post({ ...input, threadId: '' }), 400, 'threadId'],
    ['without a run', () => post({ ...input, runId: 7 }), 400, 'runId'],
    ['without a question', () => post({ ...input, messages: [] }), 400, 'must come from the user'],
    ['with an answer and a question', () => post({ ...input, resume }), 400, 'in the next one'],
    [
      'with an unreadable answer',
      () => post({ ...input, resume: [{ ...resume[0], payload: 'yes' }] }),
      400,
      'approved',
    ],
    ['with a very long id', () => post({ ...input, threadId: 't'.repeat(600) }), 400, '512 characters'],
    ['with another method', () => new Request('http://localhost/agui', { headers: { 'x-user': 'ada' } }), 405, 'POST'],
  ])('%s is refused', async (_what, request, status, says) => {
    const response = await servedAgui(scriptedAgent([]).agent)(request());
    expect(response.status).toBe(status);
    expect(await response.text()).toContain(says);
  });
});
