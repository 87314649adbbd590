// The tool run_code: scripts call tools as functions, through the one gate.
import { McpServer } from '@modelcontextprotocol/server';
import { codeMode } from '@pocket-agent/code-mode';
import { type AgentEvent, PocketAgent, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { describe, expect, test } from 'vitest';
import { add, expectValidHistory, fail, resultText, silent } from '../../pocket-agent/test/helpers.ts';
import { codingAgent, echo, run } from './helpers.ts';

const remove = tool({ name: 'remove', description: 'Deletes', capability: 'delete', run: () => 'removed' });

/** How many threads this process has. */
function threads(): number {
  const report = process.report.getReport() as unknown as { workers: unknown[] };
  return report.workers.length;
}

test('a script calls tools in a loop and returns what matters', async () => {
  const code = `
    let sum = 0;
    for (const n of [1, 2, 3]) sum = await tools.add({ a: sum, b: n });
    return { sum };`;
  expect(await run(code, { tools: [add] })).toBe('{"sum":6}');
});

test('the model sees only run_code, with the types of the functions', async () => {
  const { agent, model } = codingAgent(['return 1'], { tools: [add] });
  await agent.run('Go');
  const [shown, ...others] = model.calls[0]?.tools ?? [];
  expect(others).toEqual([]);
  expect(shown).toMatchObject({ name: 'run_code' });
  expect(shown && 'description' in shown && shown.description).toMatch(
    /Functions:\n\/\/ Adds two numbers\ntools\.add\(args: \{ a: number; b: number \}\): Promise<unknown>$/,
  );
  expect(model.calls[1]?.tools).toEqual(model.calls[0]?.tools);
});

test('the model cannot call such a tool directly', async () => {
  const llmModel = new ScriptedModel([{ toolCalls: [{ name: 'add', arguments: { a: 1, b: 2 } }] }, 'Done.']);
  const { agent } = codingAgent([], { tools: [add], llmModel });
  await agent.run('Go');
  expect(resultText(agent)).toContain('"add" cannot be called directly, only by code.');
});

test('the history has one call and one result, with a log of the calls inside', async () => {
  const code = 'await tools.add({ a: 1, b: 2 }); await tools.fail().catch(() => {}); return "done"';
  const { agent, audit, events } = codingAgent([code], { tools: [add, fail] });
  await agent.run('Go');
  expectValidHistory(agent);
  expect(resultText(agent)).toBe('done');
  const parts = agent.messages.flatMap(({ role, content }) => (role === 'tool' ? content : []));
  const durationMs = expect.any(Number);
  expect(parts.map(({ providerOptions }) => providerOptions?.pocketAgent?.calls)).toEqual([
    [
      { toolCallId: 'script-1.1', toolName: 'add', outcome: 'done', durationMs },
      { toolCallId: 'script-1.2', toolName: 'fail', outcome: 'failed', durationMs },
    ],
  ]);
  expect(audit.map(({ tool: name, via, outcome }) => [name, via, outcome])).toEqual([
    ['add', 'code', 'done'],
    ['fail', 'code', 'failed'],
    ['run_code', undefined, 'done'],
  ]);
  const inner = events.filter(({ type, data }) => type === 'tool_call' && 'parentToolCallId' in data);
  expect(inner.map(({ data }) => data)).toMatchObject([{ toolName: 'add' }, { toolName: 'fail' }]);
});

test('structured content and JSON text are values, other text stays text', async () => {
  const returns = (name: string, value: unknown) =>
    tool({ name, description: name, capability: 'read', run: () => value as string });
  const text = (value: string) => ({ type: 'text' as const, text: value });
  const tools = [
    returns('structured', { rows: [1] }),
    returns('json', '{"rows":[2]}'),
    returns('number', 3),
    returns('digits', '00123'),
    returns('long', '12345678901234567890'),
    returns('words', 'some words'),
    returns('several', { content: [text('{"id":1}'), text('two')] }),
    returns('nothing', { content: [] }),
  ];
  const code = `
    const { structured, json, number, digits, long, words, several, nothing } = tools;
    return Promise.all([structured, json, number, digits, long, words, several, nothing].map((each) => each()));`;
  expect(JSON.parse(await run(code, { tools }))).toEqual([
    { rows: [1] },
    { rows: [2] },
    3,
    '00123',
    '12345678901234567890',
    'some words',
    [{ id: 1 }, 'two'],
    null,
  ]);
});

test('images are handles in the script, and parts of the result if the script returns them', async () => {
  const image = (name: string, data: string) =>
    tool({
      name,
      description: 'Takes a picture',
      capability: 'read',
      run: () => ({ content: [{ type: 'image' as const, mimeType: 'image/png', data }] }),
    });
  const code = `
    const [one, two] = [await tools.one(), await tools.two()];
    console.log(Object.keys(one).join());
    return { chosen: two };`;
  const { agent } = codingAgent([code], {
    tools: [image('one', 'AAAA'), image('two', 'BBBB')],
    allowImages: true,
  });
  await agent.run('Go');
  const output = JSON.parse(resultText(agent));
  expect(output.value.slice(0, 2)).toEqual([
    { type: 'text', text: '$file,type,bytes' },
    { type: 'text', text: '{"chosen":{"$file":2,"type":"image/png","bytes":3}}' },
  ]);
  expect(output.value.slice(2)).toMatchObject([{ type: 'file', mediaType: 'image/png' }]);
  expect(JSON.stringify(output)).toContain('BBBB');
  expect(JSON.stringify(output)).not.toContain('AAAA');
});

test('a person is asked for calls of the script, which waits; a denied call throws in it', async () => {
  const asked: unknown[] = [];
  const code = `
    const first = await tools.remove({});
    const second = await tools.remove({}).catch((error) => error.code + ': ' + error.message);
    return [first, second];`;
  const { agent, audit } = codingAgent([code], {
    tools: [remove],
    access: { confirm: 'destructive' },
    approve: async ({ tool: name, toolCallId }) => {
      asked.push([name, toolCallId]);
      if (asked.length > 1) return 'deny';
      await new Promise((resolve) => setTimeout(resolve, 3_500));
      return 'allow';
    },
    bounds: { timeoutMs: 3_000 },
  });
  await agent.run('Go');
  expect(asked).toEqual([
    ['remove', 'script-1.1'],
    ['remove', 'script-1.2'],
  ]);
  const [first, second] = JSON.parse(resultText(agent));
  expect(first).toBe('removed');
  expect(second).toMatch(/^ACCESS_DENIED: "remove" was not called/);
  expect(audit.map(({ decision }) => decision)).toEqual(['approved', 'denied', 'allowed']);
});

describe.concurrent('the clock of a script stands still while a person is asked', () => {
  const timeoutMs = 2_000;
  const slowly = async () => {
    await new Promise((resolve) => setTimeout(resolve, 3_000));
  };
  const slowlyApproved = {
    bounds: { timeoutMs },
    access: { confirm: 'destructive' as const },
    approve: async () => {
      await slowly();
      return 'allow' as const;
    },
  };

  test('by a sub-agent that the script calls', async () => {
    const script = [{ toolCalls: [{ name: 'remove' }] }, 'Removed.'];
    const helper = new PocketAgent({ llmModel: new ScriptedModel(script), name: 'Helper', tools: [remove] });
    const { agent } = codingAgent([`await tools['Helper-message']({ message: 'Go' }); return 'done';`], {
      subAgents: [helper],
      ...slowlyApproved,
    });
    await agent.run('Go');
    expect(resultText(agent)).toBe('done');
  });

  test('by a tool that the script calls, about a tool that it calls', async () => {
    const relay = tool({
      name: 'relay',
      description: 'Calls remove',
      capability: 'read',
      run: async (_, { tools }) => void (await tools?.call('remove', {})),
    });
    const { agent } = codingAgent([`await tools.relay({}); return 'done';`], {
      tools: [remove, relay],
      ...slowlyApproved,
    });
    await agent.run('Go');
    expect(resultText(agent)).toBe('done');
  });

  test('by an MCP server that the script calls, or that its sub-agent calls', async () => {
    const form = { type: 'object', properties: { name: { type: 'string' } } } as const;
    const asking = () => {
      const server = new McpServer({ name: 'asking', version: '1.0.0' });
      server.registerTool('whoami', { description: 'Asks' }, async (context) => {
        const answer = await context.mcpReq.elicitInput({ message: 'Who?', requestedSchema: form });
        return { content: [{ type: 'text', text: JSON.stringify(answer.content) }] };
      });
      return server;
    };
    const script = [{ toolCalls: [{ name: 'whoami' }] }, 'Asked.'];
    const mcpConfig = { mcpServers: { asking: { server: asking } } };
    const helper = new PocketAgent({ llmModel: new ScriptedModel(script), name: 'Helper', mcpConfig });
    const { agent } = codingAgent(
      [`await asking.whoami({}); return 'done';`, `await tools['Helper-message']({ message: 'Go' }); return 'done';`],
      { subAgents: [helper], bounds: { timeoutMs }, mcpConfig },
    );
    const elicit = async () => {
      await slowly();
      return { action: 'accept' as const, content: { name: 'Ada' } };
    };
    await agent.run('Go', { elicit });
    expect([resultText(agent, 0), resultText(agent, 1)]).toEqual(['done', 'done']);
    await agent.close();
    await helper.close();
  });
});

test('the root is asked about the calls of code in a sub-agent', async () => {
  const { agent: inner } = codingAgent(['return tools.remove({}).catch((error) => error.code)'], { tools: [remove] });
  const asked: string[] = [];
  const message = { name: 'Coder-message', arguments: { message: 'Remove it' } };
  const root = new PocketAgent({
    llmModel: new ScriptedModel([{ toolCalls: [message] }, 'Done.']),
    subAgents: [inner],
    access: { confirm: 'destructive' },
    approve: ({ tool: name, path }) => {
      asked.push(`${path.join('/')}: ${name}`);
      return 'deny';
    },
    logger: silent,
  });
  await root.run('Go');
  expect(asked).toEqual([expect.stringMatching(/Coder: remove$/)]);
  expect(resultText(inner)).toBe('ACCESS_DENIED');
});

test.each(['then', 'toJSON'])(
  'a tool called %s is a function like any other, in its namespace and in tools',
  async (name) => {
    const server = () => {
      const made = new McpServer({ name: 'odd', version: '1.0.0' });
      for (const each of [name, 'other'])
        made.registerTool(each, { description: 'Odd' }, async () => ({ content: [{ type: 'text', text: each }] }));
      return made;
    };
    const code = `
    const waited = await (async () => odd)().then(() => 'the namespace', (error) => error.message);
    return [await odd.${name}({}), await tools.${name}({}), JSON.stringify(odd), waited];`;
    const { agent } = codingAgent([code], { mcpConfig: { mcpServers: { odd: { server } } } });
    await agent.run('Go');
    await agent.close();
    expect(JSON.parse(resultText(agent))).toEqual([
      name,
      name,
      JSON.stringify([name, 'other']),
      name === 'then' ? 'odd is not a promise' : 'the namespace',
    ]);
  },
);

test('a script reaches only the tools of its run', async () => {
  const code = 'console.log(tools); return await tools.remove({}).catch((error) => error.code)';
  const { agent, audit } = codingAgent([code], { tools: [add, remove], access: { profile: 'reader' } });
  await agent.run('Go');
  expect(resultText(agent)).toBe('["add"]\nACCESS_DENIED');
  expect(audit[0]).toMatchObject({ tool: 'remove', decision: 'refused', by: 'profile', via: 'code' });
});

test('the budget of the run counts the calls of a script', async () => {
  const code = 'for (;;) await tools.add({ a: 1, b: 1 })';
  const { agent, audit } = codingAgent([code], { tools: [add], limits: { maxToolCalls: 4 } });
  await expect(agent.run('Go')).rejects.toMatchObject({ code: 'BUDGET_REACHED' });
  expect(audit.filter(({ outcome }) => outcome === 'done')).toHaveLength(3);
  expectValidHistory(agent);
});

test('at most maxParallelToolCalls of a script run at once', async () => {
  let running = 0;
  let most = 0;
  const slow = tool({
    name: 'slow',
    description: 'Takes a while',
    capability: 'read',
    run: async () => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 5));
      running--;
    },
  });
  await run('await Promise.all(Array.from({ length: 9 }, () => tools.slow()))', {
    tools: [slow],
    limits: { maxParallelToolCalls: 3 },
  });
  expect(most).toBe(3);
});

test('an abort ends the script and its thread', async () => {
  const hang = tool({
    name: 'hang',
    description: 'Never returns',
    capability: 'read',
    run: (_, { signal }) =>
      new Promise<string>((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  });
  const before = threads();
  for (const code of ['await tools.hang()', 'tools.hang().catch(() => {}); for (;;);']) {
    const controller = new AbortController();
    const { agent, events } = codingAgent([code], { tools: [hang] });
    const running = agent.run('Go', { signal: controller.signal });
    running.catch(() => {});
    const isInside = ({ type, data }: AgentEvent) => type === 'tool_call' && 'parentToolCallId' in data;
    await expect.poll(() => events.some(isInside)).toBe(true);
    controller.abort();
    await expect(running).rejects.toMatchObject({ code: 'ABORTED' });
    expectValidHistory(agent);
  }
  await expect.poll(threads).toBeLessThanOrEqual(before); // a thread ends by itself
});

test('errors name the line, and the model reads the console before them', async () => {
  const text = await run('console.log("before", { a: 1 });\nconst x = null;\nx.y();', { tools: [echo] });
  expect(text).toMatch(/^before \{"a":1\}\nTypeError: .*\(line 3\)$/);
  expect(await run('\nreturn 1 +')).toMatch(/^SyntaxError: .*\(line 3\)$/);
  expect(await run('\n\nawait tools.add({ a: "x", b: 1 })', { tools: [add] })).toMatch(
    /^Error: Bad arguments for "add".*\(line 3\)$/s,
  );
  expect(await run('await tools.ad()', { tools: [add] })).toMatch(/^Error: There is no tool "ad". Available: add/);
  expect(await run('tools.add(1, 2)', { tools: [add] })).toBe('The code returned nothing. Use return or console.log.');
  expect(await run('await tools.add(1, 2)', { tools: [add] })).toMatch(/^Error: "add" takes one object/);
});

test('code in a Markdown block runs', async () => {
  expect(await run('```js\nreturn 6 * 7\n```')).toBe('42');
});

test('two scripts share nothing', async () => {
  const { agent } = codingAgent(['globalThis.x = 1; Object.prototype.y = 2; return 1', 'return [typeof x, ({}).y]']);
  await agent.run('Go');
  expect(resultText(agent, 1)).toBe('["undefined",null]');
});

test('more scripts than allowed at once are refused', async () => {
  const code = 'return (await tools.echo({})) && 1';
  const calls = [1, 2, 3].map((id) => ({ name: 'run_code', arguments: { code }, id: `c${id}` }));
  const llmModel = new ScriptedModel([{ toolCalls: calls }, 'Done.']);
  const { agent } = codingAgent([], { tools: [echo], llmModel, bounds: { maxScripts: 2 } });
  await agent.run('Go');
  expect([0, 1, 2].map((index) => resultText(agent, index))).toEqual([
    '1',
    '1',
    '2 scripts are running already. Try again later.',
  ]);
});

test('one caller cannot take all scripts', async () => {
  const release = Promise.withResolvers<void>();
  let waiting = 0;
  const wait = tool({
    name: 'wait',
    description: 'Waits',
    capability: 'read',
    run: async () => {
      waiting++;
      await release.promise;
      return 1;
    },
  });
  const source = codeMode({ maxScripts: 8 });
  const agentFor = (scripts: number) => {
    const calls = Array.from({ length: scripts }, () => ({
      name: 'run_code',
      arguments: { code: 'return tools.wait({})' },
    }));
    const llmModel = new ScriptedModel([{ toolCalls: calls }, 'Done.']);
    return new PocketAgent({ llmModel, logger: silent, exposure: 'code', tools: [wait, source] });
  };
  const [ann, bob] = [agentFor(3), agentFor(1)];
  const anns = ann.run('Go', { caller: 'ann' });
  await expect.poll(() => waiting).toBe(2);
  const bobs = bob.run('Go', { caller: 'bob' });
  await expect.poll(() => waiting).toBe(3);
  release.resolve();
  await Promise.all([anns, bobs]);
  expect([0, 1, 2].map((index) => resultText(ann, index)).sort()).toEqual([
    '1',
    '1',
    '2 of your scripts are running already. Try again later.',
  ]);
  expect(resultText(bob)).toBe('1');
});

test('wrong options are refused', () => {
  expect(() => codingAgent([], { bounds: { maxCpuMs: 0 } })).toThrow(/codeMode\(\).*maxCpuMs|maxCpuMs.*greater than 0/);
  expect(() => codingAgent([], { bounds: { maxCpu: 1 } as object })).toThrow(/maxCpuMs/);
});

test('an agent without tools for code shows how scripts reach the others', async () => {
  const { agent, model } = codingAgent(['return tools.add({ a: 1, b: 1 })'], { tools: [add], exposure: 'auto' });
  await agent.run('Go');
  expect(resultText(agent)).toBe('2');
  const shown = model.calls[0]?.tools ?? [];
  expect(shown.map(({ name }) => name)).toEqual(['add', 'run_code']);
  expect(JSON.stringify(shown)).toContain('functions, too: tools.NAME');
  expect(agent).toBeInstanceOf(PocketAgent);
});

test('the demo model writes code', async () => {
  const { agent } = codingAgent([], { tools: [add], llmModel: 'demo' });
  expect(await agent.run('Add 20 and 22')).toContain('42');
  expect(JSON.stringify(agent.messages)).toContain('await tools.add({');
});
