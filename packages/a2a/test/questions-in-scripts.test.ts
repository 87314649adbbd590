// What a remote agent asks during a call that a script makes: no model reads it, so the person of the run answers.
import { McpServer } from '@modelcontextprotocol/server';
import { type RemoteAgentOptions, remoteAgent } from '@pocket-agent/a2a';
import { codeMode } from '@pocket-agent/code-mode';
import { type AuditRecord, PocketAgent, type PocketAgentOptions, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { afterEach, expect, test } from 'vitest';
import { resultText, silent } from '../../pocket-agent/test/helpers.ts';
import { ForeignAgent, type Reply } from './fixtures/foreign-agent.ts';
import { World } from './fixtures/world.ts';

const world = new World();
afterEach(() => world.close());

type Elicit = NonNullable<Extract<PocketAgentOptions, { llmModel: unknown }>['elicitationHandler']>;

/** An agent of another maker that asks for a day, and for another one if that is not Monday. */
async function startPlanner() {
  const ofTask = { id: 't1', contextId: 'c1' };
  const asks = (text: string) => ({
    ...ofTask,
    status: { state: 'TASK_STATE_INPUT_REQUIRED', message: { messageId: 'q', role: 'ROLE_AGENT', parts: [{ text }] } },
  });
  const done = { ...ofTask, status: { state: 'TASK_STATE_COMPLETED' } };
  const agent = new ForeignAgent(
    {
      SendMessage: ({ message }, reply: Reply) => {
        const { taskId, parts } = message as { taskId?: string; parts: { text: string }[] };
        const text = parts[0]?.text ?? '';
        if (taskId && text !== 'Monday') reply.result({ task: asks(`Not on ${text}. Which day?`) });
        else if (taskId)
          reply.result({ task: { ...done, artifacts: [{ artifactId: 'a', parts: [{ text: 'Planned.' }] }] } });
        else reply.result({ task: asks('Which day?') });
      },
      CancelTask: (_params, reply: Reply) => reply.result({ ...ofTask, status: { state: 'TASK_STATE_CANCELED' } }),
    },
    { name: 'Planner', capabilities: { streaming: false } },
  );
  return world.keep(await agent.start());
}

interface Scripted {
  code: string;
  remote: RemoteAgentOptions;
  elicit?: Elicit;
}

/** Runs one script that may call the remote agent. */
async function runScript({ code, remote, elicit }: Scripted) {
  const llmModel = new ScriptedModel([{ toolCalls: [{ name: 'run_code', arguments: { code } }] }, 'Done.']);
  const audit: AuditRecord[] = [];
  const source = world.keep(remoteAgent({ logger: silent, capability: 'read', ...remote }) as { close(): void });
  const agent = world.keep(
    new PocketAgent({
      llmModel,
      logger: silent,
      exposure: 'code',
      tools: [source as ReturnType<typeof remoteAgent>, codeMode()],
      ...(elicit ? { elicitationHandler: elicit } : {}),
      hooks: { onEvent: ({ type, data }) => void (type === 'audit' && audit.push(data as AuditRecord)) },
    }),
  );
  await agent.run('Go');
  return { text: resultText(agent), audit };
}

const plan = `return await tools['Planner-message']({ message: 'Plan it' });`;

test('the person answers each question, and the script gets the final answer of the agent', async () => {
  const planner = await startPlanner();
  const asked: unknown[] = [];
  const days = ['Sunday', 'Monday'];
  const elicit: Elicit = (params, { server }) => {
    asked.push([server, params.message]);
    return { action: 'accept', content: { answer: days.shift() ?? '' } };
  };
  const { text, audit } = await runScript({ code: plan, remote: { url: planner.url }, elicit });
  expect(text).toBe('Planned.');
  expect(asked).toEqual([
    ['Planner', 'The A2A agent Planner asks: Which day?'],
    ['Planner', 'The A2A agent Planner asks: Not on Sunday. Which day?'],
  ]);
  const call = { tool: 'Planner-message', via: 'code', decision: 'allowed', outcome: 'done' };
  expect(audit).toMatchObject([call, { tool: 'run_code' }]);
});

test('a declined question throws in the script, and the task is canceled', async () => {
  const planner = await startPlanner();
  const code = `try { ${plan} } catch (error) { return error.code + ': ' + error.message; }`;
  const { text } = await runScript({ code, remote: { url: planner.url }, elicit: () => ({ action: 'decline' }) });
  expect(text).toBe('TOOL_FAILED: The question of Planner was declined; its task was canceled.');
  await expect.poll(() => planner.methods()).toContain('CancelTask');
});

test.each([
  ['that is not answered', () => ({ action: 'cancel' as const })],
  ['that no person can be asked', undefined],
])('a question %s is the result, with the task to answer', async (_name, elicit) => {
  const planner = await startPlanner();
  const { text } = await runScript({ code: plan, remote: { url: planner.url }, ...(elicit ? { elicit } : {}) });
  expect(JSON.parse(text).join(' ')).toMatch(/asks a question before it continues: Which day\? .* taskId "t1"/);
  expect(planner.methods()).not.toContain('CancelTask');
});

test('the form of an MCP server behind a Pocket Agent stays a form', async () => {
  const form = {
    type: 'object',
    properties: { count: { type: 'integer' }, gift: { type: 'boolean' } },
  } as const;
  const filled: string[] = [];
  const shop = () => {
    const server = new McpServer({ name: 'shop', version: '1' });
    server.registerTool('order', { description: 'Orders' }, async ({ mcpReq }) => {
      const { action, content } = await mcpReq.elicitInput({ message: 'How many?', requestedSchema: form });
      filled.push(`${action} ${JSON.stringify(content ?? null)}`);
      return { content: [] };
    });
    return server;
  };
  const order = { toolCalls: [{ name: 'order' }] };
  const shopper = world.agent([order, 'first', order, 'second'], {
    mcpConfig: { mcpServers: { shop: { server: shop } } },
  });
  const { url } = await world.serve(shopper);
  const asked: unknown[] = [];
  const elicit: Elicit = ({ message, ...params }) => {
    asked.push([message, params]);
    return asked.length === 1 ? { action: 'accept', content: { count: 12, gift: true } } : { action: 'decline' };
  };
  const code = `
    const order = () => tools['Shopper-message']({ message: 'Order' });
    return [await order(), await order()];`;
  const { text } = await runScript({ code, remote: { url, name: 'Shopper' }, elicit });
  expect(JSON.parse(text)).toEqual(['first', 'second']);
  const question = ['The A2A agent Shopper asks: How many?', { requestedSchema: form }];
  expect(asked).toEqual([question, question]);
  expect(filled).toEqual(['accept {"count":12,"gift":true}', 'decline null']);
});

test('a tool that calls the agent learns when a person is asked, and a call of the model asks no person', async () => {
  const planner = await startPlanner();
  const asking: boolean[] = [];
  const relay = tool({
    name: 'relay',
    description: 'Asks the planner',
    capability: 'read',
    run: async (_args, { tools }) =>
      await tools?.call('Planner-message', { message: 'Plan it' }, { asking: (isAsked) => void asking.push(isAsked) }),
  });
  const byModel = { toolCalls: [{ name: 'Planner-message', arguments: { message: 'Plan it' } }] };
  const agent = world.agent([{ toolCalls: [{ name: 'relay' }] }, byModel, 'Done.'], {
    tools: [relay, remoteAgent({ url: planner.url, capability: 'read', logger: silent })],
  });
  const asked: string[] = [];
  await agent.run('Go', {
    elicit: ({ message }) => {
      asked.push(message);
      return { action: 'accept', content: { answer: 'Monday' } };
    },
  });
  expect(resultText(agent, 0)).toBe('Planned.');
  expect(asking).toEqual([true, false]);
  expect(resultText(agent, 1)).toContain('Which day?');
  expect(asked).toHaveLength(1);
});
