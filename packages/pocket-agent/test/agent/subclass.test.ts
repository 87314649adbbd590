// Ways to make an agent that would lose its limits, its queue or its servers without a word.
import { PocketAgent, PocketAgentClient, type RunOptions } from 'pocket-agent';
import { recordEvents, ScriptedModel, scriptedServer } from 'pocket-agent/testing';
import { describe, expect, test } from 'vitest';
import { add, scriptedAgent, silent } from '../helpers.ts';

const agentConfig = () => ({ llmModel: new ScriptedModel(['One.', 'Two.']), name: 'Tester' });

describe('an agent with a run of its own', () => {
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

  test('is ended by its deadline though its own run never settles, and is free for the next', async () => {
    class Stuck extends PocketAgent {
      override run(input: string, _options?: RunOptions): Promise<string> {
        return input === 'hang' ? new Promise(() => {}) : super.run(input);
      }
    }
    const agent = new Stuck({ agentConfig: agentConfig() });
    await expect(agent.run('hang', { timeoutMs: 20 })).rejects.toMatchObject({ code: 'TIMEOUT' });
    expect(await agent.run('Hi')).toBe('One.');
  });

  test('cannot have it as a field, which would replace queue and limits', () => {
    class Field extends PocketAgent {
      override run = async () => 'mine';
    }
    expect(() => new Field({ agentConfig: agentConfig() })).toThrow(/run/);
  });

  test('may be given another one, which is a turn of the agent too', async () => {
    const events = recordEvents();
    const { agent } = scriptedAgent(['One.'], { hooks: events });
    agent.run = async () => (await agent.step()).finishReason;
    expect(await agent.run('Hi')).toBe('stop');
    expect(events.types()).toContain('run_finished');
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

  test('is what a fork uses of an agent with mcpConfig', async () => {
    const mcpConfig = { mcpServers: { one: { server: await scriptedServer([add]) } } };
    await using agent = new PocketAgent({ agentConfig: agentConfig(), mcpConfig, logger: silent });
    expect((await agent.fork().fork().listTools()).map(({ name }) => name)).toEqual(['add']);
  });
});
