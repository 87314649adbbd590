import { type Message, PocketAgent, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { describe, expect, test } from 'vitest';
import { add, expectLittleWork, expectValidHistory, fail, resultText, scriptedAgent } from '../helpers.ts';

describe('run', () => {
  test('asks until no tool call is left and returns the last text', async () => {
    const { agent, model } = scriptedAgent(
      [
        { toolCalls: [{ name: 'add', arguments: { a: 2, b: 3 } }] },
        { toolCalls: [{ name: 'add', arguments: { a: 5, b: 1 } }] },
        'It is 6.',
      ],
      { tools: [add] },
    );
    expect(await agent.run('2 + 3 + 1?')).toBe('It is 6.');
    expect(agent.messages.map((message) => message.role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'tool',
      'assistant',
    ]);
    expect(resultText(agent, 0)).toBe('5');
    expectValidHistory(agent);
    model.assertDone();
  });

  test('sends the system prompt first and leaves it out when there is none', async () => {
    const withPrompt = scriptedAgent(['ok'], { agentConfig: { systemPrompt: 'Be brief.' } });
    await withPrompt.agent.run('hi');
    expect(withPrompt.model.calls[0]?.prompt[0]).toEqual({ role: 'system', content: 'Be brief.' });
    const without = scriptedAgent(['ok']);
    await without.agent.run('hi');
    expect(without.model.calls[0]?.prompt.map((message) => message.role)).toEqual(['user']);
  });

  test('sends neither tools nor toolChoice when there are none', async () => {
    const { agent, model } = scriptedAgent(['ok'], { agentConfig: { completionOptions: { toolChoice: 'required' } } });
    await agent.run('hi');
    expect(model.calls[0]).not.toHaveProperty('tools');
    expect(model.calls[0]).not.toHaveProperty('toolChoice');
  });

  test('completion options go to the model, and overrides of a step last one step', async () => {
    const { agent, model } = scriptedAgent(['a', 'b'], {
      tools: [add],
      agentConfig: { completionOptions: { temperature: 0.7 } },
    });
    agent.addUserMessage('hi');
    await agent.step({ temperature: 0, toolChoice: 'none' });
    await agent.step();
    expect(model.calls.map((call) => [call.temperature, call.toolChoice?.type])).toEqual([
      [0, 'none'],
      [0.7, 'auto'],
    ]);
  });

  test('undefined options of a step count as omitted', async () => {
    const { agent, model } = scriptedAgent(['ok'], {
      agentConfig: { completionOptions: { temperature: 0.7, toolChoice: 'required' } },
      tools: [add],
    });
    const undecided: Record<string, undefined> = { temperature: undefined, toolChoice: undefined };
    await agent.step(undecided);
    expect(model.calls).toMatchObject([{ temperature: 0.7, toolChoice: { type: 'required' } }]);
  });

  test.each([
    ['maxOutputTokens', '4000'],
    ['temperature', 'hot'],
    ['stopSequences', 'x'],
    ['reasoning', 'lots'],
    ['toolChoice', 'requiredd'],
    ['headers', { 'x-a': 1 }],
    ['providerOptions', { openai: 3 }],
  ])('completionOptions.%s cannot be %j', (name, value) => {
    const agentConfig = { llmModel: 'demo', completionOptions: { [name]: value } };
    expect(() => new PocketAgent({ agentConfig })).toThrow(`completionOptions.${name} must be `);
  });

  test('a run that never ends stops after limits.maxSteps with a typed error and a valid history', async () => {
    const again = { toolCalls: [{ name: 'add', arguments: { a: 1, b: 1 } }] };
    const { agent, model } = scriptedAgent([again, again, again, 'never asked'], {
      tools: [add],
      limits: { maxSteps: 3 },
    });
    await expect(agent.run('loop')).rejects.toMatchObject({ code: 'MAX_STEPS' });
    expect(model.calls).toHaveLength(3);
    expectValidHistory(agent);
  });

  test('the default limit is 50 steps', async () => {
    const again = { toolCalls: [{ name: 'add', arguments: { a: 1, b: 1 } }] };
    const { agent, model } = scriptedAgent(
      Array.from({ length: 60 }, () => again),
      { tools: [add] },
    );
    await expect(agent.run('loop')).rejects.toMatchObject({ code: 'MAX_STEPS' });
    expect(model.calls).toHaveLength(50);
  });

  test('run() can be overridden, and super.run() works inside it', async () => {
    class Polite extends PocketAgent<{ answer: string; steps: number }> {
      override async run(input: string) {
        this.resetMessages();
        this.addUserMessage(`Please: ${input}`);
        const { llmMessage } = await this.step();
        return { answer: JSON.stringify(llmMessage.content), steps: 1 };
      }
    }
    const agent = new Polite({ agentConfig: { llmModel: new ScriptedModel(['fine']) } });
    expect(await agent.run('help')).toEqual({ answer: '[{"type":"text","text":"fine"}]', steps: 1 });

    class Loud extends PocketAgent {
      override async run(input: string) {
        return (await super.run(input)).toUpperCase();
      }
    }
    const loud = new Loud({ agentConfig: { llmModel: new ScriptedModel(['quiet', 'again']) } });
    expect(await loud.run('x')).toBe('QUIET');
    const events = [];
    for await (const event of loud.stream('y')) events.push(event);
    expect(events.at(-1)).toMatchObject({ type: 'run_finished', data: { answer: 'AGAIN' } });
  });

  test('two runs of one agent at the same time wait for each other', async () => {
    const { agent } = scriptedAgent([{ text: 'first', delayMs: 20 }, 'second']);
    expect(await Promise.all([agent.run('a'), agent.run('b')])).toEqual(['first', 'second']);
    expect(agent.messages.map((message) => message.role)).toEqual(['user', 'assistant', 'user', 'assistant']);
  });

  test('an answer cut off by length is an error with the partial text', async () => {
    const { agent } = scriptedAgent([{ text: 'Once upon a', finishReason: 'length' }]);
    await expect(agent.run('tell')).rejects.toMatchObject({ code: 'ANSWER_CUT_OFF', details: { text: 'Once upon a' } });
    expectValidHistory(agent);
  });

  test('an answer blocked by a content filter is an error', async () => {
    const { agent } = scriptedAgent([{ text: '', finishReason: 'content-filter' }]);
    await expect(agent.run('tell')).rejects.toMatchObject({ code: 'ANSWER_FILTERED' });
  });

  test('the result of a step has the finish reason and the usage', async () => {
    const { agent } = scriptedAgent([{ text: 'x', finishReason: 'length', usage: { input: 7, output: 3 } }]);
    agent.addUserMessage('hi');
    const step = await agent.step();
    expect(step.finishReason).toBe('length');
    expect(step.usage).toMatchObject({ inputTokens: 7, outputTokens: 3, costUsd: undefined });
    expect(step.toolExecutionResults).toBeUndefined();
  });
});

describe('history', () => {
  test('a conversation restored from JSON continues', async () => {
    const first = scriptedAgent([{ toolCalls: [{ name: 'add', arguments: { a: 1, b: 2 } }] }, '3'], { tools: [add] });
    await first.agent.run('1 + 2?');
    const messages = JSON.parse(JSON.stringify(first.agent.messages));
    const second = scriptedAgent(['I said 3.'], { agentConfig: { messages } });
    expect(await second.agent.run('What did you say?')).toBe('I said 3.');
    expect(second.model.calls[0]?.prompt.slice(0, 4)).toEqual(first.agent.messages);
    expectValidHistory(second.agent);
  });

  test('config, options and messages of the caller are never written to', async () => {
    const completionOptions = Object.freeze({ temperature: 0.5 });
    const message = Object.freeze({ role: 'user' as const, content: [{ type: 'text' as const, text: 'before' }] });
    const messages = Object.freeze([message]);
    const model = new ScriptedModel([{ toolCalls: [{ name: 'add', arguments: { a: 1, b: 1 } }] }, 'ok', 'ok']);
    const agentConfig = Object.freeze({ llmModel: model, messages, completionOptions });
    const options = Object.freeze({ agentConfig, tools: Object.freeze([add]) });
    const agents = [new PocketAgent(options), new PocketAgent(options)];
    await agents[0]?.run('hi');
    expect(messages).toHaveLength(1);
    expect(agents[1]?.messages).toHaveLength(1);
    expect(agents[0]?.agentId).not.toBe(agents[1]?.agentId);
    message.content[0] = { type: 'text', text: 'changed' };
    expect(agents[0]?.messages[0]).toMatchObject({ content: [{ text: 'before' }] });
  });

  test('addMessage keeps a copy, bytes as base64', () => {
    const { agent } = scriptedAgent([]);
    const data = new Uint8Array([1, 2, 3]);
    agent.addMessage({
      role: 'user',
      content: [{ type: 'file', mediaType: 'image/png', data: { type: 'data', data } }],
    });
    expect(agent.messages[0]).toMatchObject({ content: [{ data: { data: 'AQID' } }] });
    expectValidHistory(agent);
  });

  test.each([
    ['nothing', undefined, /takes a string, or \{ text, images, files \}; here the text is undefined/],
    ['something else', { a: 1 }, /takes a string, or \{ text, images, files \}; here the text is undefined/],
    ['a number', 5, /the text is number/],
    ['a list', [{ type: 'text', text: 'hi' }], /the text is undefined/],
    [
      'an image that is not a list',
      { text: 'hi', images: 'https://example.com/a.jpg' },
      /images must be a list of images/,
    ],
    ['images that are null', { text: 'hi', images: null }, /images must be a list of images: .*, got null/],
    ['an invalid image', { text: 'hi', images: [5] }, /An image must be bytes/],
  ])('invalid input is not added to the history: %s', async (_what, input, text) => {
    const { agent } = scriptedAgent(['fine'], { agentConfig: { allowImages: true } });
    await expect(agent.run(input as never)).rejects.toThrow(text);
    const read = async () => {
      for await (const _event of agent.stream(input as never));
    };
    await expect(read()).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    expect(agent.messages).toEqual([]);
    expect(await agent.run('hi')).toBe('fine');
  });

  test('addUserMessage() refuses images that are not a list, also where images are dropped', () => {
    const { agent } = scriptedAgent([]);
    for (const images of ['abc', null]) {
      expect(() => agent.addUserMessage('hi', { images } as never)).toThrow('images must be a list of images');
    }
    expect(agent.messages).toEqual([]);
  });

  test('step() refuses a text', async () => {
    const { agent } = scriptedAgent([]);
    await expect(agent.step('hi' as never)).rejects.toThrow(/addUserMessage\(text\)/);
  });

  test('addMessage refuses an invalid message with a hint', () => {
    const { agent } = scriptedAgent([]);
    const wrong = { role: 'system', content: 'x' } as unknown as Parameters<typeof agent.addMessage>[0];
    expect(() => agent.addMessage(wrong)).toThrow(/systemPrompt/);
  });

  test('resetMessages forgets the conversation but not the system prompt', async () => {
    const { agent, model } = scriptedAgent(['a', 'b'], { agentConfig: { systemPrompt: 'S' } });
    await agent.run('one');
    agent.resetMessages();
    await agent.run('two');
    expect(model.calls[1]?.prompt).toEqual([
      { role: 'system', content: 'S' },
      { role: 'user', content: [{ type: 'text', text: 'two' }] },
    ]);
  });

  test('a message added while tools run follows their results', async () => {
    const holder: { agent?: PocketAgent } = {};
    const chat = tool({ name: 'chat', description: '', run: () => holder.agent?.addUserMessage('by the way') });
    const { agent, model } = scriptedAgent(
      [{ toolCalls: [{ name: 'chat' }, { name: 'add', arguments: { a: 1, b: 2 } }] }, 'ok'],
      { tools: [add, chat] },
    );
    holder.agent = agent;
    await agent.run('hi');
    expect(agent.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'user', 'assistant']);
    expect(resultText(agent, 1)).toBe('3');
    expect(model.calls[1]?.prompt.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user']);
    expectValidHistory(agent);
  });

  test('results of tools are dropped if the conversation was reset while they ran', async () => {
    const holder: { agent?: PocketAgent } = {};
    const forget = tool({
      name: 'forget',
      description: '',
      run: () => {
        holder.agent?.resetMessages();
        holder.agent?.addUserMessage('afresh');
      },
    });
    const { agent, model } = scriptedAgent(
      [{ toolCalls: [{ name: 'forget' }, { name: 'add', arguments: { a: 1, b: 2 } }] }, 'ok'],
      { tools: [add, forget] },
    );
    holder.agent = agent;
    expect(await agent.run('hi')).toBe('ok');
    expect(model.calls[1]?.prompt).toEqual([{ role: 'user', content: [{ type: 'text', text: 'afresh' }] }]);
    expectValidHistory(agent);
  });

  test('images are kept with their real type, or dropped with a warning where they are not allowed', () => {
    const png = 'iVBORw0KGgoAAAANSUhEUg==';
    const allowed = scriptedAgent([], { agentConfig: { allowImages: true } }).agent;
    allowed.addUserMessage('look', {
      images: [png, `data:image/gif;base64,R0lGODlh`, 'https://example.com/a.jpg', Buffer.from(png, 'base64')],
    });
    const parts = allowed.messages[0]?.content.slice(1).map((part) => (part.type === 'file' ? part.mediaType : ''));
    expect(parts).toEqual(['image/png', 'image/gif', 'image/*', 'image/png']);
    const warnings: string[] = [];
    const logger = { debug() {}, info() {}, error() {}, warn: (text: string) => void warnings.push(text) };
    const refusing = scriptedAgent([], { logger }).agent;
    refusing.addUserMessage('look', { images: [png] });
    expect(refusing.messages[0]?.content).toEqual([{ type: 'text', text: 'look' }]);
    expect(warnings[0]).toContain('allowImages');
  });

  test('addUserMessage refuses data that is not an image', () => {
    const { agent } = scriptedAgent([], { agentConfig: { allowImages: true } });
    expect(() => agent.addUserMessage('x', { images: ['no image!'] })).toThrow(/base64/);
  });
});

describe('tool calls', () => {
  test('calls of one answer run at the same time and are answered in their order', async () => {
    const order: string[] = [];
    const slow = tool({
      name: 'slow',
      description: '',
      run: async () => {
        await new Promise((done) => setTimeout(done, 20));
        order.push('slow');
        return 'slow';
      },
    });
    const fast = tool({
      name: 'fast',
      description: '',
      run: () => {
        order.push('fast');
        return 'fast';
      },
    });
    const { agent } = scriptedAgent([{ toolCalls: [{ name: 'slow' }, { name: 'fast' }] }, 'ok'], {
      tools: [slow, fast],
    });
    await agent.run('go');
    expect(order).toEqual(['fast', 'slow']);
    expect([resultText(agent, 0), resultText(agent, 1)]).toEqual(['slow', 'fast']);
  });

  test('limits.maxParallelToolCalls limits how many calls run in parallel', async () => {
    let running = 0;
    let most = 0;
    const busy = tool({
      name: 'busy',
      description: '',
      run: async () => {
        most = Math.max(most, ++running);
        await new Promise(setImmediate);
        running--;
      },
    });
    const { agent } = scriptedAgent([{ toolCalls: Array.from({ length: 6 }, () => ({ name: 'busy' })) }, 'ok'], {
      tools: [busy],
      limits: { maxParallelToolCalls: 2 },
    });
    await agent.run('go');
    expect(most).toBe(2);
    expectValidHistory(agent);
  });

  test.each([undefined, 2])(
    'a thousand calls of one answer, %s at a time, let other work run in between',
    async (most) => {
      let turns = 0;
      const counter = setInterval(() => turns++, 0);
      const quick = tool({ name: 'quick', description: '', run: () => 'done' });
      const { agent } = scriptedAgent([{ toolCalls: Array.from({ length: 1_000 }, () => ({ name: 'quick' })) }, 'ok'], {
        tools: [quick],
        ...(most ? { limits: { maxParallelToolCalls: most } } : {}),
      });
      await agent.run('go');
      clearInterval(counter);
      expect(turns).toBeGreaterThan(5);
      expectValidHistory(agent);
    },
  );

  test('the results of forty thousand calls are put into one message of the prompt, in linear time', async () => {
    const ids = Array.from({ length: 40_000 }, (_, index) => `call-${index}`);
    const output = { type: 'text' as const, value: 'done' };
    const messages: Message[] = [
      { role: 'user', content: [{ type: 'text', text: 'go' }] },
      {
        role: 'assistant',
        content: ids.map((toolCallId) => ({ type: 'tool-call', toolCallId, toolName: 'x', input: {} })),
      },
      ...ids.map(
        (toolCallId): Message => ({
          role: 'tool',
          content: [{ type: 'tool-result', toolCallId, toolName: 'x', output }],
        }),
      ),
    ];
    const { agent, model } = scriptedAgent(['ok'], { agentConfig: { messages } });
    const before = process.threadCpuUsage();
    await agent.run('and?');
    expectLittleWork(before);
    const parts = model.calls[0]?.prompt.map(({ role, content }) => `${role} ${content.length}`);
    expect(parts).toEqual(['user 1', 'assistant 40000', 'tool 40000', 'user 1']);
  });

  test('a failing tool, an unknown tool, bad JSON and bad arguments are answered, and the run goes on', async () => {
    const { agent } = scriptedAgent(
      [
        {
          toolCalls: [
            { name: 'fail' },
            { name: 'unknown_tool' },
            { name: 'add', arguments: '{"a": 1,' },
            { name: 'add', arguments: { a: 'x', b: 1 } },
            { name: 'add', arguments: '[1]' },
            { name: 'add', arguments: { a: 1, b: 1 } },
          ],
        },
        'done',
      ],
      { tools: [add, fail] },
    );
    expect(await agent.run('go')).toBe('done');
    expectValidHistory(agent);
    expect(resultText(agent, 0)).toContain('the disk is full');
    expect(resultText(agent, 1)).toMatch(/no tool "unknown_tool".*add, fail/);
    expect(resultText(agent, 2)).toMatch(/must be a JSON object.*JSON Schema/s);
    expect(resultText(agent, 3)).toMatch(/a: .*number.*"properties"/is);
    expect(resultText(agent, 4)).toContain('not an object');
    expect(resultText(agent, 5)).toBe('2');
    expect(JSON.stringify(agent.messages[1])).toContain('malformed_arguments');
  });

  test('a call without arguments gets an empty object', async () => {
    const seen: unknown[] = [];
    const ping = tool({ name: 'ping', description: '', run: (args) => void seen.push(args) });
    const { agent } = scriptedAgent([{ toolCalls: [{ name: 'ping', arguments: '' }] }, 'ok'], { tools: [ping] });
    await agent.run('go');
    expect(seen).toEqual([{}]);
  });

  test('ids that a model repeats or forgets are made unique', async () => {
    const twice = [
      { name: 'add', arguments: { a: 1, b: 1 }, id: 'same' },
      { name: 'add', arguments: { a: 2, b: 2 }, id: 'same' },
      { name: 'add', arguments: { a: 3, b: 3 }, id: '' },
    ];
    const { agent } = scriptedAgent([{ toolCalls: twice }, 'ok'], { tools: [add] });
    await agent.run('go');
    expectValidHistory(agent);
    expect(resultText(agent, 1)).toBe('4');
  });

  test('calls that the provider has run itself stay in the history and are not run again', async () => {
    const { agent } = scriptedAgent([
      {
        content: [
          { type: 'tool-call', toolCallId: 'p1', toolName: 'web_search', input: '{"q":"x"}', providerExecuted: true },
          { type: 'tool-result', toolCallId: 'p1', toolName: 'web_search', result: { hits: 1 } },
          { type: 'text', text: 'Found it.' },
        ],
        finishReason: 'stop',
      },
    ]);
    expect(await agent.run('search')).toBe('Found it.');
    expect(agent.messages[1]?.content.map((part) => part.type)).toEqual(['tool-call', 'tool-result', 'text']);
  });
});

describe('an invalid configuration is refused with advice', () => {
  const model = new ScriptedModel([]);
  test.each([
    ['no model', { agentConfig: {} }, /llmModel is missing/],
    ['an unknown model', { agentConfig: { llmModel: 'nonsense' } }, /Unknown model "nonsense".*anthropic/],
    ['an object that is not a model', { agentConfig: { llmModel: {} } }, /LanguageModelV4/],
    ['an invalid limit', { agentConfig: { llmModel: model }, limits: { maxSteps: 0 } }, /limits.maxSteps/],
    [
      'a system prompt that is not a string',
      { agentConfig: { llmModel: model, systemPrompt: 5 } },
      /systemPrompt must be a string, got 5/,
    ],
    ['messages that are no list', { agentConfig: { llmModel: model, messages: 'x' } }, /list of messages/],
    ['two tools of one name', { agentConfig: { llmModel: model }, tools: [add, add] }, /Two tools are called "add"/],
  ])('%s', (_what, options, text) => {
    expect(() => new PocketAgent(options as unknown as ConstructorParameters<typeof PocketAgent>[0])).toThrow(text);
  });

  test.each([
    [null],
    [{ role: 'user', content: [null] }],
    [{ role: 'user', content: [{ type: 'file' }] }],
    [{ role: 'tool', content: [{ type: 'tool-result', toolCallId: 'a' }] }],
  ])('a history with the message %j', (message) => {
    const agentConfig = { llmModel: model, messages: [message] as never };
    expect(() => new PocketAgent({ agentConfig })).toThrow(/needs a role .* whole content parts, got/);
  });

  test('a run of a closed agent fails with AGENT_CLOSED', async () => {
    const { agent } = scriptedAgent(['x']);
    await agent.close();
    await expect(agent.run('hi')).rejects.toMatchObject({ code: 'AGENT_CLOSED' });
  });

  test('the error of a run that was not awaited before close() says how to await it', async () => {
    const answer = async () => {
      await using agent = scriptedAgent(['x']).agent;
      return agent.run('hi');
    };
    await expect(answer()).rejects.toThrow(/was closed; make a new one\. .*return await agent\.run/);
  });
});
