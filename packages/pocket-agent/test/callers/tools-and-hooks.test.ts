// Tools and hooks know on whose behalf they work: `caller` and `metadata` of the run.
import { type HookContext, PocketAgent, type ToolCallContext, tool } from 'pocket-agent';
import { ScriptedModel, scriptedServer } from 'pocket-agent/testing';
import { expect, onTestFinished, test } from 'vitest';
import { scriptedAgent, silent } from '../helpers.ts';

type Seen = Pick<ToolCallContext, 'caller' | 'metadata'>;

const call = (name: string, args: Record<string, unknown> = {}) => ({ toolCalls: [{ name, arguments: args }] });

/** A tool that notes what it knows about the caller. */
function whoTool(seen: Seen[], during: () => unknown = () => {}) {
  return tool({
    name: 'who',
    description: 'Who asks?',
    run: async (_args, { caller, metadata }) => {
      seen.push({ caller, ...(metadata ? { metadata } : {}) });
      await during();
      return caller;
    },
  });
}

test('a function tool gets caller and metadata of the run', async () => {
  const seen: Seen[] = [];
  const { agent } = scriptedAgent([call('who'), 'Ann.'], { tools: [whoTool(seen)] });
  await agent.run('Who am I?', { caller: 'ann', metadata: { token: 'secret', tenant: { id: 7 } } });
  expect(seen).toEqual([{ caller: 'ann', metadata: { token: 'secret', tenant: { id: 7 } } }]);
  expect(Object.isFrozen(seen[0]?.metadata)).toBe(true);
});

test('the next run does not inherit them', async () => {
  const seen: Seen[] = [];
  const { agent } = scriptedAgent([call('who'), 'Ann.', call('who'), 'I do not know.'], { tools: [whoTool(seen)] });
  await agent.run('Who am I?', { caller: 'ann', metadata: { token: 'secret' } });
  await agent.run('Who am I?');
  expect(seen[1]).toEqual({ caller: undefined, metadata: {} });
});

test('tools and hooks of a sub-agent get those of the run that called it', async () => {
  const seen: Seen[] = [];
  const hooked: unknown[] = [];
  const { agent: helper } = scriptedAgent([call('who'), 'Ann.'], {
    agentConfig: { name: 'Helper' },
    tools: [whoTool(seen)],
    hooks: { preToolCall: ({ caller, metadata }) => void hooked.push({ caller, metadata }) },
  });
  const { agent } = scriptedAgent([call('Helper-message', { message: 'Who?' }), 'Ann.'], { subAgents: [helper] });
  await agent.run('Who am I?', { caller: 'ann', metadata: { token: 'secret' } });
  expect(seen).toEqual([{ caller: 'ann', metadata: { token: 'secret' } }]);
  expect(hooked).toEqual(seen);
});

test('a run that a tool starts for another caller has neither the caller nor the metadata of the first', async () => {
  const seen: Seen[] = [];
  const { agent: helper } = scriptedAgent([call('who'), 'Ben.'], { tools: [whoTool(seen)] });
  const forBen = () => helper.run('Who?', { caller: 'ben' });
  const { agent } = scriptedAgent([call('who'), 'Ann.'], { tools: [whoTool(seen, forBen)] });
  await agent.run('Who am I?', { caller: 'ann', metadata: { token: 'secret' } });
  expect(seen).toEqual([
    { caller: 'ann', metadata: { token: 'secret' } },
    { caller: 'ben', metadata: {} },
  ]);
});

test('every hook of a step gets the caller and a copy of the metadata', async () => {
  const seen: Seen[] = [];
  const hooked: [string, string | undefined, unknown][] = [];
  const note = (name: string) => (context: HookContext) => {
    hooked.push([name, context.caller, context.metadata.token]);
    context.metadata.token = `changed by ${name}`;
  };
  const { agent } = scriptedAgent([call('who'), 'Ann.'], {
    tools: [whoTool(seen)],
    hooks: { preStep: note('preStep'), preToolCall: note('preToolCall'), postStep: note('postStep') },
  });
  await agent.run('Who am I?', { caller: 'ann', metadata: { token: 'secret' } });
  expect(hooked).toEqual([
    ['preStep', 'ann', 'secret'],
    ['preToolCall', 'ann', 'changed by preStep'],
    ['postStep', 'ann', 'changed by preToolCall'],
    ['preStep', 'ann', 'secret'],
    ['postStep', 'ann', 'changed by preStep'],
  ]);
  expect(seen[0]?.metadata).toEqual({ token: 'secret' });
});

test('a hook context of a subclass keeps its own metadata and has the caller', async () => {
  const shared = { steps: 0 };
  const callers: unknown[] = [];
  class Counting extends PocketAgent {
    protected override createHookContext() {
      return { agent: this, metadata: shared };
    }
  }
  const agent = new Counting({
    llmModel: new ScriptedModel([call('who'), 'Ann.']),
    logger: silent,
    tools: [whoTool([])],
    hooks: {
      preStep: ({ caller, metadata }) => {
        callers.push(caller);
        metadata.steps = Number(metadata.steps) + 1;
      },
    },
  });
  await agent.run('Who am I?', { caller: 'ann', metadata: { token: 'secret' } });
  expect(callers).toEqual(['ann', 'ann']);
  expect(shared).toEqual({ steps: 2 });
});

test('an MCP server gets neither of them', async () => {
  const metas: unknown[] = [];
  const meta = tool({ name: 'meta', description: '', run: (_args, context) => void metas.push(context) });
  const { agent } = scriptedAgent([call('meta'), 'Done.'], { mcpConfig: await scriptedServer([meta]) });
  onTestFinished(() => agent.close());
  await agent.run('Go.', { caller: 'ann-the-caller', metadata: { token: 'the-secret' } });
  expect(metas).toHaveLength(1);
  expect(JSON.stringify(metas)).not.toMatch(/ann-the-caller|the-secret/);
});
