// A function for `env`: each caller has a server process of their own, with the variables of that caller.
import { PocketAgent, type PocketAgentOptions } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { expect, onTestFinished, test } from 'vitest';
import { stdio } from '../fixtures/world.ts';
import { resultText, silent } from '../helpers.ts';

const who = { toolCalls: [{ name: 'who', arguments: {} }] };

function agentWith(env: unknown, options: Partial<PocketAgentOptions> = {}): PocketAgent {
  const entry = { ...stdio('stdio-plain.ts'), env } as NonNullable<PocketAgentOptions['mcpServers']>[string];
  const llmModel = new ScriptedModel(Array.from({ length: 4 }, () => [who, 'done']).flat());
  const agent = new PocketAgent({ llmModel, logger: silent, mcpServers: { it: entry }, ...options });
  onTestFinished(() => agent.close());
  return agent;
}

test('each caller has a process with their own variables', async () => {
  const agent = agentWith(({ caller = 'no one' }: { caller?: string }) => ({ WHO: caller }));
  for (const caller of ['ann', 'ben', 'ann']) await agent.run('Who?', { caller });
  expect([0, 1, 2].map((index) => resultText(agent, index))).toEqual(['ann', 'ben', 'ann']);
});

test('the name of a caller cannot read variables of this process', async () => {
  process.env.TEST_SECRET = 'the secret';
  onTestFinished(() => void delete process.env.TEST_SECRET);
  const agent = agentWith(({ caller = '' }: { caller?: string }) => ({ WHO: caller }));
  // biome-ignore lint/suspicious/noTemplateCurlyInString: what configuration files write for a variable
  await agent.run('Who?', { caller: '${TEST_SECRET}' });
  // biome-ignore lint/suspicious/noTemplateCurlyInString: as above
  expect(resultText(agent)).toBe('${TEST_SECRET}');
});

test.each([
  ['is asynchronous', async () => ({ WHO: 'ann' })],
  ['returns nothing', () => undefined],
  ['returns values that are not strings', () => ({ WHO: 7 })],
])('a function that %s leaves its caller without the tools, and the log says why', async (_what, env) => {
  const warnings: string[] = [];
  const agent = agentWith(env, { logger: { ...silent, warn: (text: string) => void warnings.push(text) } });
  await agent.run('Who?', { caller: 'ann' });
  expect(resultText(agent)).toContain('There is no tool "who"');
  expect(warnings.join('\n')).toContain(
    'env() of MCP server "it" must return an object of strings, for caller "ann"; it cannot be asynchronous.',
  );
});
