// An option that does not exist would be ignored in silence, so it is refused, with the one that was meant.
import { PocketAgent, type PocketAgentOptions, type RunOptions, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { describe, expect, test } from 'vitest';
import { silent } from './helpers.ts';

const agentConfig = { llmModel: new ScriptedModel([]), name: 'Tester' };
const make = (options: object) => new PocketAgent({ agentConfig, logger: silent, ...options } as PocketAgentOptions);

describe('an option that does not exist', () => {
  test.each([
    [{ acess: {} }, 'An agent has no option "acess". Did you mean "access"?'],
    [{ access: { approve: () => 'allow' } }, 'access has no option "approve". It stands beside access, not in it.'],
    [{ access: { profil: 'reader' } }, 'access has no option "profil". Did you mean "profile"?'],
    [{ confirm: 'always' }, 'An agent has no option "confirm". It belongs in access.'],
    [{ limits: { maxStep: 3 } }, 'limits has no option "maxStep". Did you mean "maxSteps"?'],
    [{ agentConfig: { ...agentConfig, system_prompt: '' } }, 'Did you mean "systemPrompt"?'],
    [{ limits: { budget: 3 } }, 'limits has no option "budget". There are: maxSteps, '],
    [{ access: 'reader' }, 'access must be an object.'],
    [{ access: null }, 'access must be an object.'],
  ])('%j is refused', (options, message) => {
    expect(() => make(options)).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(message) }),
    );
  });

  test('is named before what is missing because of it', () => {
    const misspelt = { agentconfig: agentConfig } as unknown as PocketAgentOptions;
    expect(() => new PocketAgent(misspelt)).toThrow(/Did you mean "agentConfig"\?/);
  });
});

describe('an option that does not exist is refused', () => {
  const wrong = (options: object) => options as never;

  test('of a tool', () => {
    const made = (options: object) => () => tool(wrong({ name: 'x', description: '', run: () => 1, ...options }));
    expect(made({ inputShema: {} })).toThrow('Tool "x" has no option "inputShema". Did you mean "inputSchema"?');
    expect(made({ parameters: {} })).toThrow('Tool "x" has no option "parameters". Did you mean "inputSchema"?');
    expect(made({ run: undefined, execute: () => 1 })).toThrow('Tool "x" needs a function "run".');
  });

  test('but not what is only handed on with the rest', async () => {
    const listed = { name: 'x', description: '', inputSchema: {}, outputSchema: {}, _meta: {}, icons: [] };
    expect(tool(wrong({ ...listed, run: () => 1 })).definition.name).toBe('x');
    const context = { toolCallId: '1', signal: new AbortController().signal, progress: () => {}, meta: {} };
    const agent = make({ agentConfig: { llmModel: new ScriptedModel(['fine']) } });
    expect(await agent.run('hi', wrong(context))).toBe('fine');
  });

  test('nor is a signal an object of options', async () => {
    const { signal } = new AbortController();
    await expect(make({}).run('hi', wrong(signal))).rejects.toThrow('as an object, such as { signal }');
  });

  test('of a run, which adds nothing to the history', async () => {
    const agent = make({});
    const refused = { code: 'CONFIG_INVALID', message: 'A run has no option "timeout". Did you mean "timeoutMs"?' };
    await expect(agent.run('hi', wrong({ timeout: 5 }))).rejects.toMatchObject(refused);
    await expect(agent.stream('hi', wrong({ timeout: 5 })).next()).rejects.toMatchObject(refused);
    expect(agent.messages).toEqual([]);
  });

  test('of a server, and of where it listens', async () => {
    const agent = make({});
    await expect(agent.asMcpServer(wrong({ profil: 'reader' }))).rejects.toThrow('Did you mean "profile"?');
    const server = await agent.asMcpServer();
    await expect(server.listen(wrong({ prot: 5 }))).rejects.toThrow('listen() has no option "prot". There are: host,');
  });

  test('but a run() of your own may take others', async () => {
    class Styled extends PocketAgent {
      override async run(_input: string, options: RunOptions & { style?: string } = {}) {
        return options.style ?? 'plain';
      }
    }
    const options: RunOptions & { style?: string } = { style: 'loud' };
    expect(await new Styled({ agentConfig, logger: silent }).run('hi', options)).toBe('loud');
  });
});

test('what is undefined was left out', () => {
  expect(make({ access: undefined, limits: { maxSteps: undefined }, acess: undefined }).name).toBe('Tester');
});

test('a subclass may have options of its own, which its forks get too, and misspells no others', () => {
  class Clerk extends PocketAgent {
    readonly desk: number;
    constructor(options: PocketAgentOptions & { desk: number }) {
      super(options);
      this.desk = options.desk;
    }
  }
  const clerk = new Clerk({ agentConfig, desk: 7, logger: silent });
  expect(clerk.fork()).toMatchObject({ desk: 7 });
  const access = { profil: 'reader' } as object;
  expect(() => new Clerk({ agentConfig, desk: 7, access })).toThrow(/Did you mean "profile"/);
});
