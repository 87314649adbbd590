// Code mode: the model reads 500 orders with code, and only the sum enters the conversation. A person approves the deletions
// that the code requests.
import assert from 'node:assert/strict';
import { codeMode } from '@pocket-agent/code-mode';
import { PocketAgent, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';

const orders = Array.from({ length: 500 }, (_, id) => ({ id, status: id % 100 === 0 ? 'lost' : 'paid', total: id }));
const inputSchema = { type: 'object', properties: { id: { type: 'number' } }, required: ['id'] };
const getOrder = tool({
  name: 'get_order',
  description: 'Returns an order.',
  inputSchema,
  capability: 'read',
  run: ({ id }) => orders[Number(id)],
});
const deleteOrder = tool({
  name: 'delete_order',
  description: 'Deletes an order.',
  inputSchema,
  capability: 'delete',
  run: ({ id }) => `order ${id} is deleted`,
});

const code = `
  const ids = Array.from({ length: 500 }, (_, id) => id);
  const orders = await Promise.all(ids.map((id) => tools.get_order({ id })));
  const lost = orders.filter(({ status }) => status === 'lost');
  const answers = [];
  for (const { id } of lost.slice(0, 2)) {
    answers.push(await tools.delete_order({ id }).catch((error) => error.code));
  }
  return { sum: orders.reduce((sum, { total }) => sum + total, 0), lost: lost.length, answers };`;

const asked: unknown[] = [];
const model = new ScriptedModel([{ toolCalls: [{ name: 'run_code', arguments: { code } }] }, 'Done.']);
await using agent = new PocketAgent({
  llmModel: model,
  tools: [getOrder, deleteOrder, codeMode()],
  exposure: 'code',
  access: { confirm: 'destructive' },
  limits: { maxParallelToolCalls: 20 },
  approve: ({ tool: name, arguments: args }) => {
    asked.push([name, args]);
    return args.id === 0 ? 'allow' : 'deny';
  },
});

console.log(await agent.run('What do all orders cost? Delete two of the lost ones.'));
const [shown] = model.calls[0]?.tools ?? [];
console.log(shown?.type === 'function' && shown.description);
const result = JSON.stringify(agent.messages.at(-2)?.content);
console.log(result.slice(0, 200));

assert.deepEqual(
  model.calls[0]?.tools?.map(({ name }) => name),
  ['run_code'],
);
assert.deepEqual(asked, [
  ['delete_order', { id: 0 }],
  ['delete_order', { id: 100 }],
]);
assert.match(result, /"sum\\":124750,\\"lost\\":5,\\"answers\\":\[\\"order 0 is deleted\\",\\"ACCESS_DENIED\\"\]/);
