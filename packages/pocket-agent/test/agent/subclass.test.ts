// Subclasses and shared clients: an overridden run keeps queue, limits, option checks and events.
import { PocketAgent, PocketAgentClient, type PocketAgentOptions, type RunOptions, tool } from 'pocket-agent';
import { recordEvents, ScriptedModel, scriptedServer } from 'pocket-agent/testing';
import { describe, expect, test } from 'vitest';
import { add, scriptedAgent, silent } from '../helpers.ts';

const callAdd = { toolCalls: [{ name: 'add', arguments: { a: 1, b: 1 } }] };
const agentConfig = () => ({ llmModel: new ScriptedModel(['One.', 'Two.']), name: 'Tester' });

describe('an agent that overrides run()', () => {
  class Polite extends PocketAgent {
    override async run(input: string, options: RunOptions & { style?: string } = {}): Promise<string> {
      return `${options.style ?? 'Well'}: ${await super.run(input)}`;
    }
  }

  test('takes options of its own, and refuses wrong values of the others', async () => {
    const agent = new Polite({ agentConfig: agentConfig() });
    expect(await agent.run('Hi', { style: 'Sir' })).toBe('Sir: One.');
    const wrong = { timeoutMs: 'soon' } as unknown as RunOptions;
    await expect(agent.run('Hi', wrong)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('timeoutMs'),
    });
  });

  test('refuses a misspelt option, which would be ignored', async () => {
    let erased = 0;
    const erase = tool({ name: 'erase', description: '', capability: 'delete', run: () => void erased++ });
    const llmModel = new ScriptedModel([{ toolCalls: [{ name: 'erase' }] }, 'Done.']);
    const agent = new Polite({ llmModel, tools: [erase] });
    const misspelt = { profil: 'reader' } as RunOptions;
    await expect(agent.run('Hi', misspelt)).rejects.toThrow('A run has no option "profil". Did you mean "profile"?');
    expect(erased).toBe(0);
  });

  test('narrows the run by the options of super.run(), which are checked too', async () => {
    let erased = 0;
    const erase = tool({ name: 'erase', description: '', capability: 'delete', run: () => void erased++ });
    class Narrow extends PocketAgent {
      override run(input: string, options: RunOptions = {}): Promise<string> {
        return super.run(input, { ...options, [input]: 'reader' });
      }
    }
    const llmModel = new ScriptedModel([{ toolCalls: [{ name: 'erase' }] }, 'Done.']);
    const agent = new Narrow({ llmModel, tools: [erase], logger: silent });
    await expect(agent.run('profil')).rejects.toThrow('A run has no option "profil". Did you mean "profile"?');
    expect(await agent.run('profile')).toBe('Done.');
    expect(erased).toBe(0);
  });

  test('shows each event once to a listener that it passes on', async () => {
    class Plain extends PocketAgent {
      override run(input: string, options?: RunOptions): Promise<string> {
        return super.run(input, options);
      }
    }
    const typesOf = async (agent: PocketAgent) => {
      const types: string[] = [];
      for await (const { type } of agent.stream('Hi')) types.push(type);
      await agent.run('Hi', { onEvent: ({ type }) => void types.push(type) });
      return types;
    };
    const expected = await typesOf(new PocketAgent({ agentConfig: agentConfig() }));
    expect(await typesOf(new Plain({ agentConfig: agentConfig() }))).toEqual(expected);
  });

  test('emits the events of one run, though it calls super.run()', async () => {
    const events = recordEvents();
    const agent = new Polite({ agentConfig: agentConfig(), hooks: events });
    expect(await Promise.all([agent.run('One?'), agent.run('Two?')])).toEqual(['Well: One.', 'Well: Two.']);
    const types = events.types().filter((type) => type.startsWith('run_'));
    expect(types).toEqual(['run_started', 'run_finished', 'run_started', 'run_finished']);
  });

  test('may override step(), which run() calls', async () => {
    let steps = 0;
    class Counting extends PocketAgent {
      override step(...options: Parameters<PocketAgent['step']>) {
        steps++;
        return super.step(...options);
      }
    }
    expect(await new Counting({ agentConfig: agentConfig() }).run('Hi')).toBe('One.');
    expect(steps).toBe(1);
  });

  test('is ended by its deadline although its run never settles, and can run again', async () => {
    class Stuck extends PocketAgent {
      override run(input: string, _options?: RunOptions): Promise<string> {
        return input === 'hang' ? new Promise(() => {}) : super.run(input);
      }
    }
    const agent = new Stuck({ agentConfig: agentConfig() });
    await expect(agent.run('hang', { timeoutMs: 20 })).rejects.toMatchObject({ code: 'TIMEOUT' });
    expect(await agent.run('Hi')).toBe('One.');
  });

  test('cannot define run as a class field, which would bypass queue and limits', () => {
    class Field extends PocketAgent {
      override run = async () => 'mine';
    }
    expect(() => new Field({ agentConfig: agentConfig() })).toThrow(/run/);
  });

  test('may be assigned another run, which takes its turn in the queue too', async () => {
    const events = recordEvents();
    const { agent } = scriptedAgent(['One.'], { hooks: events });
    agent.run = async () => (await agent.step()).finishReason;
    expect(await agent.run('Hi')).toBe('stop');
    expect(events.types()).toContain('run_finished');
  });

  test('may be assigned a function that calls the run it replaces, and then that run again', async () => {
    const agent = new Polite({ agentConfig: agentConfig() });
    const { run } = agent;
    agent.run = async (input: string) => `Indeed. ${await run(input)}`;
    expect(await agent.run('Hi')).toBe('Indeed. Well: One.');
    agent.run = run;
    expect(await agent.run('Hi')).toBe('Well: Two.');
  });
});

describe('mcpClient', () => {
  test('with mcpConfig is refused: one of them would be ignored', async () => {
    const mcpConfig = { mcpServers: { one: { server: await scriptedServer([add]) } } };
    const mcpClient = new PocketAgentClient({ mcpConfig, logger: silent });
    expect(() => new PocketAgent({ agentConfig: agentConfig(), mcpClient, mcpConfig })).toThrow(
      'mcpConfig or mcpClient, not both',
    );
    await mcpClient.close();
  });

  test('of a fork whose class picks options is refused with the way out', async () => {
    const mcpConfig = { mcpServers: { one: { server: await scriptedServer([add]) } } };
    class Picky extends PocketAgent {
      constructor({ mcpClient }: Partial<PocketAgentOptions> = {}) {
        super({ agentConfig: agentConfig(), mcpConfig, logger: silent, ...(mcpClient ? { mcpClient } : {}) });
      }
    }
    await using agent = new Picky();
    expect(() => agent.fork()).toThrow('pass all of its options to super: super({ ...options, mcpConfig })');
  });

  test('is what a fork uses of an agent with mcpConfig', async () => {
    const mcpConfig = { mcpServers: { one: { server: await scriptedServer([add]) } } };
    await using agent = new PocketAgent({ agentConfig: agentConfig(), mcpConfig, logger: silent });
    expect((await agent.fork().fork().listTools()).map(({ name }) => name)).toEqual(['add']);
  });

  test.each([{ isFlat: true }, { isFlat: false }])(
    'is what a fork uses of a subclass that names its own servers (flat options: $isFlat)',
    async ({ isFlat }) => {
      const mcpServers = { one: { server: await scriptedServer([add]) } };
      class Calculator extends PocketAgent {
        constructor(options: Partial<PocketAgentOptions> = {}) {
          super(
            isFlat
              ? { ...agentConfig(), mcpServers, ...options }
              : { agentConfig: agentConfig(), ...options, mcpConfig: { mcpServers } },
          );
        }
      }
      await using agent = new Calculator({ logger: silent });
      const fork = agent.fork().fork();
      expect(fork.name).toBe('Tester');
      expect((await fork.listTools()).map(({ name }) => name)).toEqual(['add']);
    },
  );
});

class Endless extends PocketAgent {
  override async run(input: string): Promise<string> {
    this.addUserMessage(input);
    for (;;) await this.step({ timeoutMs: 10_000 });
  }
}

describe('an overridden run(), called directly', () => {
  const make = (limits: object) =>
    new Endless({
      agentConfig: { llmModel: new ScriptedModel(Array.from({ length: 60 }, () => callAdd)) },
      tools: [add],
      limits,
    });

  test('is limited by maxSteps, also when its steps have deadlines of their own', async () => {
    const agent = make({ maxSteps: 3 });
    await expect(agent.run('x')).rejects.toMatchObject({ code: 'MAX_STEPS' });
    expect(agent.messages.filter(({ role }) => role === 'assistant')).toHaveLength(3);
  });

  test('stops at its signal and waits for its turn', async () => {
    class Slow extends PocketAgent {
      override async run(input: string, _options?: RunOptions): Promise<string> {
        this.addUserMessage(input);
        await this.step();
        return input;
      }
    }
    const llmModel = new ScriptedModel([{ text: 'a', delayMs: 15 }, 'b', { text: 'late', delayMs: 60_000 }]);
    const agent = new Slow({ agentConfig: { llmModel }, logger: silent });
    expect(await Promise.all([agent.run('one'), agent.run('two')])).toEqual(['one', 'two']);
    expect(agent.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
    await expect(agent.run('three', { timeoutMs: 20 })).rejects.toMatchObject({ code: 'TIMEOUT' });
  });
});
