// Small things that several tests of the agent share.
import { type AgentConfig, PocketAgent, type PocketAgentOptions, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { expect } from 'vitest';
import { z } from 'zod';

export const silent = { debug() {}, info() {}, warn() {}, error() {} };

export const add = tool({
  name: 'add',
  description: 'Adds two numbers',
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  annotations: { readOnlyHint: true },
  run: ({ a, b }) => a + b,
});

export const fail = tool({
  name: 'fail',
  description: 'Always fails',
  run: () => {
    throw new Error('the disk is full');
  },
});

type Script = ConstructorParameters<typeof ScriptedModel>[0];

/** An agent that follows a script; more options as an agent takes them. */
export function scriptedAgent(
  script: Script,
  {
    agentConfig,
    ...options
  }: Omit<Partial<PocketAgentOptions>, 'agentConfig'> & {
    agentConfig?: Partial<AgentConfig>;
  } = {},
): { agent: PocketAgent; model: ScriptedModel } {
  const model = new ScriptedModel(script);
  const agent = new PocketAgent({
    agentConfig: { llmModel: model, name: 'Tester', ...agentConfig },
    logger: silent,
    ...options,
  });
  return { agent, model };
}

/** What every provider demands of a history: each tool call answered once, in order, before anything else. */
export function expectValidHistory(agent: PocketAgent<unknown>): void {
  const { messages } = agent;
  expect(JSON.parse(JSON.stringify(messages))).toEqual(messages);
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index];
    if (message?.role === 'tool') throw new Error(`Message ${index} is the result of an unknown call.`);
    if (message?.role !== 'assistant') continue;
    const called = message.content.flatMap((part) =>
      part.type === 'tool-call' && !part.providerExecuted ? [part.toolCallId] : [],
    );
    expect(new Set(called).size).toBe(called.length);
    const answered: string[] = [];
    while (messages[index + 1]?.role === 'tool') {
      index++;
      for (const part of messages[index]?.content ?? []) {
        if (part.type !== 'tool-result') continue;
        answered.push(part.toolCallId);
        expect(JSON.stringify(part.output)).not.toContain('"value":""');
      }
    }
    expect(answered).toEqual(called);
  }
}

/** The text a model would read as the result of the n-th tool call. */
export function resultText(agent: PocketAgent<unknown>, index = 0): string {
  const results = agent.messages.flatMap((message) =>
    message.role === 'tool'
      ? message.content.flatMap((part) => (part.type === 'tool-result' ? [part.output] : []))
      : [],
  );
  const output = results[index];
  if (!output) throw new Error(`There is no tool result ${index}.`);
  return 'value' in output && typeof output.value === 'string' ? output.value : JSON.stringify(output);
}

/**
 * Fails if this thread has worked long since `before = process.threadCpuUsage()`. Processor time, because the time on the
 * clock depends on what else the machine does; linear work needs a hundredth of the limit.
 */
export function expectLittleWork(before: NodeJS.CpuUsage): void {
  const { user, system } = process.threadCpuUsage(before);
  expect((user + system) / 1_000_000).toBeLessThan(5 * Number(process.env.TEST_PATIENCE));
}
