// Unknown options are refused with a suggestion instead of being ignored. An option that has a wrong type is refused, since
// it would fail late or allow too much.
import {
  AgentHooks,
  PocketAgent,
  PocketAgentClient,
  type PocketAgentOptions,
  type RunOptions,
  tool,
  toolsFor,
} from 'pocket-agent';
import { recordEvents, ScriptedModel, scriptedServer } from 'pocket-agent/testing';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { add, scriptedAgent, silent } from '../helpers.ts';

const agentConfig = { llmModel: new ScriptedModel([]), name: 'Tester' };
const ofModel = (modelSettings: object) => ({ agentConfig: { ...agentConfig, modelSettings } });
const completing = (completionOptions: object) => ({ agentConfig: { ...agentConfig, completionOptions } });
class Misspelt extends AgentHooks {
  preToolcall() {}
}
const make = (options: object) => new PocketAgent({ agentConfig, logger: silent, ...options } as PocketAgentOptions);

describe('an unknown option', () => {
  test.each([
    [{ acess: {} }, 'An agent has no option "acess". Did you mean "access"?'],
    [{ access: { approve: () => 'allow' } }, 'access has no option "approve". It belongs beside access, not in it.'],
    [{ access: { profil: 'reader' } }, 'access has no option "profil". Did you mean "profile"?'],
    [{ confirm: 'always' }, 'An agent has no option "confirm". It belongs in access.'],
    [{ limits: { maxStep: 3 } }, 'limits has no option "maxStep". Did you mean "maxSteps"?'],
    [{ agentConfig: { ...agentConfig, system_prompt: '' } }, 'Did you mean "systemPrompt"?'],
    [{ limits: { maxCost: 3 } }, 'limits has no option "maxCost". Did you mean "maxCostUsd"?'],
    [{ limits: { budget: 3 } }, 'limits has no option "budget". Available: maxSteps, '],
    [{ limits: { constructor: 3 } }, 'limits has no option "constructor". Available: maxSteps, '],
    [{ access: 'reader' }, 'access must be an object, got "reader".'],
    [{ access: null }, 'access must be an object, got null.'],
    [{ access: { capabilities: ['read'] } }, 'access has no option "capabilities". It belongs in access.profile.'],
    [{ agentConfig: { ...agentConfig, mcpServers: {} } }, 'It belongs beside agentConfig: mcpServers: { … }.'],
    [{ agentConfig: { model: 'gpt-5' } }, 'agentConfig has no option "model". Did you mean "llmModel"?'],
    [{ model: 'gpt-5' }, 'An agent has no option "model". Did you mean "llmModel"?'],
    [{ instructions: 'x' }, 'An agent has no option "instructions". Did you mean "systemPrompt"?'],
    [{ system: 'x' }, 'An agent has no option "system". Did you mean "systemPrompt"?'],
    [{ agentConfig: { system: 'x' } }, 'agentConfig has no option "system". Did you mean "systemPrompt"?'],
    [{ description: 'x' }, 'An agent has no option "description". Did you mean "roleDescription"?'],
    [
      { access: { confirm: 'delete' } },
      'access.confirm must be a function, or one of never, destructive (for tools that can delete), write (for tools that do more than read), always, got "delete".',
    ],
    [{ agentConfig: { ...agentConfig, apiKey: 'x' } }, 'It belongs in agentConfig.modelSettings.'],
    [ofModel({ baseURL: 'http://x' }), 'agentConfig.modelSettings has no option "baseURL". Did you mean "baseUrl"?'],
    [ofModel({ apikey: 'x' }), 'agentConfig.modelSettings has no option "apikey". Did you mean "apiKey"?'],
    [
      ofModel({ tools: [] }),
      'agentConfig.modelSettings has no option "tools". It belongs beside agentConfig, not in it.',
    ],
    [completing({ temprature: 1 }), 'completionOptions has no option "temprature". Did you mean "temperature"?'],
    [completing({ maxTokens: 9 }), 'completionOptions has no option "maxTokens". Did you mean "maxOutputTokens"?'],
    [completing({ abortSignal: 1 }), 'completionOptions has no option "abortSignal". Available: maxOutputTokens, '],
    [
      { access: { profile: { capabilities: ['read'], alow: ['n_*'] } } },
      'profile has no option "alow". Did you mean "allow"?',
    ],
    [{ hooks: { onevent: () => {} } }, 'hooks has no option "onevent". Did you mean "onEvent"?'],
    [{ hooks: new Misspelt() }, 'hooks has no option "preToolcall". Did you mean "preToolCall"?'],
  ])('%j is refused', (options, message) => {
    expect(() => make(options)).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(message) }),
    );
  });

  test('is reported before a missing option', () => {
    const misspelt = { agentconfig: agentConfig } as unknown as PocketAgentOptions;
    expect(() => new PocketAgent(misspelt)).toThrow(/Did you mean "agentConfig"\?/);
  });
});

describe('an option that has a wrong type', () => {
  test.each<[object, string]>([
    [
      { access: { redact: ['ssn'] } },
      'access.redact must be a list of regular expressions such as [/ssn/i], got ["ssn"].',
    ],
    [{ access: { redact: /ssn/ } }, 'got a RegExp.'],
    [{ access: { filter: 'x' } }, 'access.filter must be a function, got "x".'],
    [{ access: { independent: 'no' } }, 'access.independent must be true or false, got "no".'],
    [{ access: { auditFile: 5 } }, 'access.auditFile must be a string, got 5.'],
    [{ access: { profile: { capabilities: 'read' } } }, 'profile.capabilities must be a list of strings, got "read".'],
    [
      { access: { profile: { capabilities: ['read'], allow: 'n_*' } } },
      'profile.allow must be a list of strings, got "n_*".',
    ],
    [
      { access: { profile: { capabilities: ['read'], deny: 'zap' } } },
      'profile.deny must be a list of strings, got "zap".',
    ],
    [
      { access: { profile: { capabilities: [], deny: [/zap/] } } },
      'profile.deny must be a list of strings, got [a RegExp].',
    ],
    [{ access: { profile: {} } }, 'A profile needs capabilities out of read, write, create, delete'],
    [{ access: { profile: ['read'] } }, 'A profile must be one of reader, writer, manager, admin, or { capabilities, '],
    [{ access: { profile: null } }, 'A profile must be one of reader, '],
    [
      { prices: { script: { input: 3 } } },
      'prices["script"].output must be a number, in USD for a million tokens, got undefined.',
    ],
    [{ prices: { inputt: 3 } }, 'prices["inputt"] must be { input, output }, in USD for a million tokens, got 3.'],
    [
      { prices: { script: { inputt: 3, output: 1 } } },
      'prices["script"] has no option "inputt". Did you mean "input"?',
    ],
    [{ prices: { script: { input: Number.NaN, output: 1 } } }, 'prices["script"].input must be a number'],
    [{ prices: { script: { input: 1, output: -1 } } }, 'got -1.'],
    [
      { prices: { script: { input: 1, output: 1, cachedInput: '1' } } },
      'prices["script"].cachedInput must be a number',
    ],
    [{ prices: [3] }, 'prices must be an object such as'],
    [ofModel({ baseUrl: new URL('http://x') }), 'agentConfig.modelSettings.baseUrl must be a string, got a URL.'],
    [{ agentConfig: { ...agentConfig, modelSettings: 'x' } }, 'agentConfig.modelSettings must be an object, got "x".'],
    [{ approve: true }, 'approve must be a function, got true.'],
    [
      { subAgents: [{}] },
      'subAgents must be a list of agents, also of one: subAgents: [agent]; tools belong in tools, got [an object].',
    ],
    [{ subAgents: [add] }, 'subAgents must be a list of agents'],
    [{ subAgents: make({}) }, 'subAgents must be a list of agents, also of one: subAgents: [agent]'],
    [{ tools: [make({})] }, 'an agent belongs in subAgents, or goes in as agent.asMcpTool(), got [a PocketAgent].'],
    [{ hooks: () => {} }, 'hooks must be an object with hooks, got a function.'],
    [{ hooks: { onEvent: 'x' } }, 'hooks.onEvent must be a function, got "x".'],
    [{ toolPrefix: null }, 'toolPrefix must be one of auto, always, never, got null.'],
    [{ agentConfig: { ...agentConfig, name: null } }, 'agentConfig.name must be a string, got null.'],
    [{ access: { auditFile: null } }, 'access.auditFile must be a string, got null.'],
    [{ access: { fingerprintFile: null } }, 'access.fingerprintFile must be a string, got null.'],
    [ofModel({ headers: { a: 1 } }), 'agentConfig.modelSettings.headers.a must be a string, got a number.'],
    [{ toolPrefix: 'allways' }, 'toolPrefix must be one of auto, always, never, got "allways".'],
    [{ samplingHandler: 'agent' }, `samplingHandler must be a function or 'agent-model', got "agent".`],
    [{ elicitationHandler: 5 }, 'elicitationHandler must be a function, got 5.'],
    [
      { roots: '/tmp' },
      `roots must be a list such as [{ uri: 'file:///work' }], or a function that returns one, got "/tmp".`,
    ],
    [{ roots: ['/tmp'] }, 'got ["/tmp"].'],
    [{ toolTimeoutMs: -5 }, 'toolTimeoutMs must be a number greater than 0, got -5.'],
    [{ limits: { timeoutMs: Number.NaN } }, 'limits.timeoutMs must be a number greater than 0, got NaN.'],
    [{ limits: { modelRetries: -1 } }, 'limits.modelRetries must be a whole number, 0 or more, got -1.'],
    [{ router: {} }, 'router must be an object with languageModel(name), got an object.'],
    [{ logger: () => {} }, 'logger must be an object with debug, info, warn and error, got a function.'],
    [{ mcpClient: {} }, 'mcpClient must be a PocketAgentClient, got an object.'],
  ])('is refused: %o', (options, message) => {
    expect(() => make(options)).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(message) }),
    );
  });

  test.each([
    ['modelSettings', ofModel],
    ['completionOptions', completing],
  ])('is not shown where it may be a secret: %s.headers', (group, made) => {
    const headers = made({ headers: 'Bearer abcdef' });
    const message = `agentConfig.${group}.headers must be an object of strings, got a string.`;
    expect(() => make(headers)).toThrow(expect.objectContaining({ message }));
  });

  test.each([
    ['demo', '"demo"'],
    [() => {}, '"demo"'],
  ])('in place of all options is refused with how an agent is made: %s', (given, model) => {
    const message = `A PocketAgent is made from an object of options: new PocketAgent({ llmModel: ${model} }).`;
    expect(() => new PocketAgent(given as never)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID', message }));
  });

  test('of a run is refused before anything is added to the history', async () => {
    const agent = make({});
    const run = (options: object) => agent.run('hi', options);
    const code = 'CONFIG_INVALID';
    await expect(run({ timeoutMs: true })).rejects.toMatchObject({
      code,
      message: 'A run: timeoutMs must be a number greater than 0, got true.',
    });
    await expect(run({ signal: new AbortController() })).rejects.toMatchObject({
      code,
      message: 'A run: signal must be an AbortSignal, such as controller.signal, got an AbortController.',
    });
    await expect(run({ approve: true })).rejects.toMatchObject({ code });
    await expect(run({ profile: { capabilities: ['read'], alow: [] } })).rejects.toMatchObject({ code });
    expect(agent.messages).toEqual([]);
  });

  test('of a step reaches no model', async () => {
    const { agent, model } = scriptedAgent(['fine']);
    agent.addUserMessage('hi');
    const step = (options: object) => agent.step(options);
    await expect(step({ temprature: 1 })).rejects.toThrow(
      'A step has no option "temprature". Did you mean "temperature"?',
    );
    await expect(step({ timeout: 1 })).rejects.toThrow('A step has no option "timeout". Did you mean "timeoutMs"?');
    await expect(step({ maxTokens: 1 })).rejects.toThrow('Did you mean "maxOutputTokens"?');
    await expect(step({ temperature: 'hot' })).rejects.toThrow('A step: temperature must be a number, got "hot".');
    await expect(step({ signal: new AbortController() })).rejects.toThrow('A step: signal must be an AbortSignal');
    await expect(step({ timeoutMs: '5' })).rejects.toThrow('A step: timeoutMs must be a number greater than 0');
    expect(model.calls).toEqual([]);
    await step({ temperature: 1 });
    expect(model.calls).toMatchObject([{ temperature: 1 }]);
  });

  test('of a profile is refused wherever one is read', () => {
    const opened = { capabilities: ['read'], alow: ['n_*'] } as object;
    expect(() => toolsFor(opened as never, [])).toThrow('Did you mean "allow"?');
  });
});

test('hooks may have other methods, and onEvent may be null', () => {
  class Counting extends AgentHooks {
    count = 0;
    onEvents: string[] = [];
    override onEvent() {
      this.count++;
    }
    onEvent2() {}
    get preSteps() {
      throw new Error('not called');
    }
  }
  expect(make({ hooks: new Counting() }).name).toBe('Tester');
  expect(make({ hooks: recordEvents() }).fork().name).toBe('Tester');
  expect(
    make({
      hooks: null,
      approve: null,
      roots: null,
      tools: null,
      agentConfig: { ...agentConfig, roleDescription: null, modelSettings: { headers: null } },
    }).name,
  ).toBe('Tester');
});

describe('a script', () => {
  const answer = 'Answer 2 of a ScriptedModel';
  test.each<[object, string]>([
    [{ txt: 'x' }, `${answer} has no option "txt". Did you mean "text"?`],
    [
      { usage: { inputTokens: 1, outputTokens: 2 } },
      `${answer}: usage has no option "inputTokens". Available: input, output.`,
    ],
    [{ usage: 5 }, `${answer}: usage must be { input, output }, in tokens, got 5.`],
    [{ usage: { input: '5' } }, `${answer}: usage: input must be a number, got "5".`],
    [
      { toolCalls: [{ name: 'r', args: {} }] },
      `${answer}: a tool call has no option "args". Available: name, arguments, id.`,
    ],
    [{ toolCalls: ['r'] }, `${answer}: toolCalls must be a list such as [{ name, arguments }], got ["r"].`],
    [{ toolCalls: [{}] }, `${answer}: the name of a tool call must be a string, got undefined.`],
    [{ text: 5 }, `${answer}: text must be a string, got 5.`],
    [['x'], `${answer} must be a string, a function or { text, toolCalls, … }, got ["x"].`],
  ])('with %j in it is refused when it is made, and when a function gives that', async (wrong, message) => {
    const refused = expect.objectContaining({ code: 'CONFIG_INVALID', message });
    expect(() => new ScriptedModel(['fine', wrong as never])).toThrow(refused);
    const { agent } = scriptedAgent(['fine', () => wrong as never]);
    await agent.run('x');
    await expect(agent.run('x')).rejects.toThrow(message);
  });

  test('must be a list', () => {
    expect(() => new ScriptedModel('fine' as never)).toThrow(
      'The script of a ScriptedModel must be a list of answers, got "fine".',
    );
  });
});

describe('an unknown option is refused', () => {
  const wrong = (options: object) => options as never;

  test('of a tool', () => {
    const made = (options: object) => () => tool(wrong({ name: 'x', description: '', run: () => 1, ...options }));
    expect(made({ inputShema: {} })).toThrow('Tool "x" has no option "inputShema". Did you mean "inputSchema"?');
    expect(made({ parameters: {} })).toThrow('Tool "x" has no option "parameters". Did you mean "inputSchema"?');
    expect(made({ run: undefined, execute: () => 1 })).toThrow('Tool "x" has no option "execute". Did you mean "run"?');
    expect(made({ needsApproval: true })).toThrow('no option "needsApproval". Set "access.confirm" and "approve"');
    expect(made({ run: undefined })).toThrow('Tool "x" needs a function "run".');
  });

  test('but fields of a listed tool and of a tool call context are accepted', async () => {
    const listed = { name: 'x', description: '', inputSchema: {}, outputSchema: {}, _meta: {}, icons: [] };
    expect(tool(wrong({ ...listed, run: () => 1 })).definition.name).toBe('x');
    const context = { toolCallId: '1', signal: new AbortController().signal, progress: () => {}, meta: {} };
    const agent = make({ agentConfig: { llmModel: new ScriptedModel(['fine']) } });
    expect(await agent.run('hi', wrong(context))).toBe('fine');
  });

  test('and so is a signal instead of options', async () => {
    const { signal } = new AbortController();
    await expect(make({}).run('hi', wrong(signal))).rejects.toThrow('as an object, such as { signal }');
    await expect(make({}).stream('hi', wrong(signal)).next()).rejects.toThrow('as an object, such as { signal }');
    const controller = wrong({ signal: new AbortController() });
    await expect(make({}).stream('hi', controller).next()).rejects.toThrow('A run: signal must be an AbortSignal');
  });

  test('of a run, if it belongs elsewhere', async () => {
    const files = make({}).run('hi', wrong({ files: [] }));
    await expect(files).rejects.toThrow('A run has no option "files". Pass them with the text: run({ text, files }).');
    const steps = make({})
      .stream('hi', wrong({ maxSteps: 3 }))
      .next();
    await expect(steps).rejects.toThrow('A run has no option "maxSteps". It belongs in limits of the agent.');
  });

  test('but an overridden run may have such an option', async () => {
    class Reader extends PocketAgent {
      override async run(input: string, options: object = {}): Promise<string> {
        return super.run(`${input} ${JSON.stringify(options)}`, options);
      }
    }
    const model = new ScriptedModel(['fine']);
    expect(await new Reader({ llmModel: model }).run('hi', { files: ['a'] })).toBe('fine');
  });

  test('of a run, which adds nothing to the history', async () => {
    const agent = make({});
    const refused = { code: 'CONFIG_INVALID', message: 'A run has no option "timeout". Did you mean "timeoutMs"?' };
    await expect(agent.run('hi', wrong({ timeout: 5 }))).rejects.toMatchObject(refused);
    await expect(agent.stream('hi', wrong({ timeout: 5 })).next()).rejects.toMatchObject(refused);
    expect(agent.messages).toEqual([]);
  });

  test('of a client, as are options with a wrong type', () => {
    const made = (options: object) => () => new PocketAgentClient(wrong(options));
    expect(made({ mcpServers: {} })).toThrow('A PocketAgentClient has no option "mcpServers". It belongs inside mcp');
    expect(made({ servers: {} })).toThrow('It belongs inside mcpConfig: mcpConfig: { servers: { … } }.');
    expect(made({ timeoutMs: 5 })).toThrow(
      'A PocketAgentClient has no option "timeoutMs". Did you mean "toolTimeoutMs"?',
    );
    expect(made({ onServerState: () => {} })).toThrow('Did you mean "onServerStatus"?');
    expect(made({ toolPrefix: null })).toThrow('A PocketAgentClient: toolPrefix must be one of auto, always, never');
    expect(made({ elicitationHandler: null, logger: silent, toolTimeoutMs: undefined })).not.toThrow();
  });

  test('of asMcpServer() and listen()', async () => {
    const agent = make({});
    expect(() => agent.asMcpServer(wrong({ profil: 'reader' }))).toThrow('Did you mean "profile"?');
    const server = agent.asMcpServer();
    await expect(server.listen(wrong({ socket: 5 }))).rejects.toThrow(
      'listen() has no option "socket". Available: host,',
    );
  });

  test('but an overridden run() may take others', async () => {
    class Styled extends PocketAgent {
      override async run(_input: string, options: RunOptions & { style?: string } = {}) {
        return options.style ?? 'plain';
      }
    }
    const options: RunOptions & { style?: string } = { style: 'loud' };
    expect(await new Styled({ agentConfig, logger: silent }).run('hi', options)).toBe('loud');
  });
});

describe('flat options', () => {
  test('stand for agentConfig and mcpConfig', async () => {
    await using agent = new PocketAgent({
      llmModel: new ScriptedModel([{ toolCalls: [{ name: 'add', arguments: { a: 1, b: 2 } }] }, 'Three.']),
      name: 'Flat',
      systemPrompt: 'Be brief.',
      mcpServers: { math: { server: await scriptedServer([add]) } },
      logger: silent,
    });
    expect(await agent.run('1 + 2?')).toBe('Three.');
    expect([agent.name, agent.systemPrompt]).toEqual(['Flat', 'Be brief.']);
    expect(agent.fork().systemPrompt).toBe('Be brief.');
  });

  test('may complete agentConfig', () => {
    expect(make({ systemPrompt: 'Be brief.' }).systemPrompt).toBe('Be brief.');
  });

  test.each([
    [{ name: 'Other' }, 'An agent takes name or agentConfig.name, not both'],
    [{ mcpServers: {}, mcpConfig: { mcpServers: {} } }, 'An agent takes mcpServers or mcpConfig, not both'],
    [{ systemPrompt: 5 }, 'systemPrompt must be a string, got 5.'],
    [{ sistemPrompt: 'x' }, 'An agent has no option "sistemPrompt". Did you mean "systemPrompt"?'],
    [{ modelSettings: { apikey: 'x' } }, 'modelSettings has no option "apikey". Did you mean "apiKey"?'],
  ])('%j is refused', (options, message) => {
    expect(() => make(options)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
    expect(() => make(options)).toThrow(message);
  });
});

test('an undefined option counts as omitted', () => {
  expect(make({ access: undefined, limits: { maxSteps: undefined }, acess: undefined }).name).toBe('Tester');
});

test('a subclass may add options, which its forks get too; misspelt options are refused', () => {
  class Clerk extends PocketAgent {
    readonly desk: number;
    constructor(options: PocketAgentOptions & { desk: number }) {
      super(options);
      this.desk = options.desk;
    }
  }
  const clerk = new Clerk({ agentConfig, desk: 7, logger: silent });
  const { desk }: { desk: number } = clerk.fork(); // the type of the subclass
  expect(desk).toBe(7);
  const odd = { agentConfig, desk: 7, constructor: 'inherited by every object', logger: silent };
  expect(new Clerk(odd)).toMatchObject({ desk: 7 });
  const access = { profil: 'reader' } as object;
  expect(() => new Clerk({ agentConfig, desk: 7, access })).toThrow(/Did you mean "profile"/);
});

test('PocketAgentOptions is the type of flat and of nested options', () => {
  const flat: PocketAgentOptions = { llmModel: 'demo', name: 'Flat', logger: silent };
  const nested: PocketAgentOptions = { agentConfig: { llmModel: 'demo', name: 'Nested' }, logger: silent };
  expect([flat, nested].map((options) => new PocketAgent(options).name)).toEqual(['Flat', 'Nested']);
});

test('a fork of a subclass with a different constructor fails with a hint', () => {
  class Labelled extends PocketAgent {
    readonly label: string;
    constructor(label: string, options: PocketAgentOptions) {
      super(options);
      this.label = label;
    }
  }
  const agent = new Labelled('first', { llmModel: 'demo', logger: silent });
  expect(() => agent.fork()).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  expect(() => agent.fork()).toThrow(/^fork\(\) calls new Labelled\(options\), .* override fork\(\) in Labelled /);
});

describe('tools that cannot work are refused with advice', () => {
  const given = (value: unknown) => value as never;
  test.each([
    ['no run', () => tool(given({ name: 'x', description: '' })), /"x" needs a function "run"/],
    [
      'a schema of something else',
      () => tool({ name: 'x', description: '', inputSchema: { type: 'string' }, run: () => 1 }),
      /must describe an object/,
    ],
    [
      'a zod schema of something else',
      // @ts-expect-error: the compiler refuses it too
      () => tool({ name: 'x', description: '', inputSchema: z.string(), run: () => 1 }),
      /must describe an object/,
    ],
    [
      'a zod shape instead of a schema',
      () => tool({ name: 'x', description: '', inputSchema: { city: z.string() }, run: () => 1 }),
      /inputSchema of tool "x" must be a zod schema, z\.object\(\{ … \}\), or a JSON Schema/,
    ],
    [
      'a shape with a property that is called type',
      () => tool({ name: 'x', description: '', inputSchema: given({ type: z.string() }), run: () => 1 }),
      /must be a zod schema/,
    ],
    [
      'names of types',
      () => tool({ name: 'x', description: '', inputSchema: { city: 'string' }, run: () => 1 }),
      /must be a zod schema/,
    ],
    [
      'a schema that is a text',
      () => tool({ name: 'x', description: '', inputSchema: given('string'), run: () => 1 }),
      /must be a zod schema/,
    ],
    [
      'a schema without JSON',
      () => tool({ name: 'x', description: '', inputSchema: z.object({ d: z.date() }), run: () => 1 }),
      /tool "x" cannot be converted to JSON Schema/,
    ],
    ['a bare function', () => scriptedAgent([], { tools: [given(() => 1)] }), /must be made by tool\(\{ … \}\)/],
    [
      'a tool of another library',
      () => scriptedAgent([], { tools: [given({ name: 'look', execute() {} })] }),
      /"look" is neither\. Wrap a function: tool\(\{ name, description, inputSchema, run \}\)\.$/,
    ],
    ['one tool, not in a list', () => scriptedAgent([], { tools: given(add) }), /^tools must be a list, also of one/],
    ['no options at all', () => new PocketAgent(given(undefined)), /llmModel is missing/],
    [
      'a model of an older AI SDK',
      () => new PocketAgent({ agentConfig: { llmModel: given({ specificationVersion: 'v2', doGenerate() {} }) } }),
      /AI SDK 7/,
    ],
  ])('%s', (_what, make, text) => {
    expect(make).toThrow(text);
  });
});

describe('numbers in limits', () => {
  test.each([
    [{ modelRetries: Number.NaN }],
    [{ modelRetries: -1 }],
    [{ maxParallelToolCalls: 0.5 }],
    [{ maxSteps: 1.5 }],
    [{ timeoutMs: Number.NaN }],
    [{ maxTokens: 0 }],
  ])('%j is refused', (limits) => {
    expect(() => scriptedAgent([], { limits })).toThrow(/must be a/);
  });

  test('an infinite timeout means no timeout, and 0 is refused', async () => {
    const { agent } = scriptedAgent([{ text: 'ok', delayMs: 5 }, 'x'], {
      limits: { timeoutMs: Number.POSITIVE_INFINITY },
    });
    expect(await agent.run('x')).toBe('ok');
    await expect(agent.run('x', { timeoutMs: 0 })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });
});
