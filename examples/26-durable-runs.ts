// A run that waits for an approval while no process is running, and continues in the next process, with newer code.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openRuns } from '@pocket-agent/runs';
import { PocketAgent, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';

const folder = await mkdtemp(join(tmpdir(), 'pocket-agent-'));
const url = `sqlite:${join(folder, 'runs.db')}`;
const refund = tool({ name: 'refund', description: 'Refunds an order', run: () => 'refunded' });
const supportAgent = (systemPrompt: string) => () =>
  new PocketAgent({
    llmModel: new ScriptedModel([
      // in the next process, the model is called with the whole history
      ({ prompt }) => (prompt.length > 2 ? 'Order 17 is refunded.' : { toolCalls: [{ name: 'refund' }] }),
      'Order 17 is refunded.',
    ]),
    systemPrompt,
    tools: [refund],
    access: { confirm: 'write' },
  });

{
  await using runs = await openRuns({ url, agents: { support: supportAgent('You refund orders.') } });
  await runs.start('support', 'Refund order 17', { id: 'order-17', caller: 'user-42' });
  for await (const { type } of runs.events('order-17')) if (type === 'question') break;
}

// days later, in another process
await using runs = await openRuns({ url, agents: { support: supportAgent('You refund orders, politely.') } });
const [question] = await runs.questions({ agent: 'support' });
assert(question);
console.log(question.call?.tool, question.caller); // refund user-42
await runs.answer(question.id, 'allow', { by: 'Ann' });
console.log(await runs.result('order-17')); // Order 17 is refunded.
for await (const { number, type } of runs.events('order-17', { after: 3 })) console.log(number, type); // 4 question, 5 answer, …

await rm(folder, { recursive: true });
