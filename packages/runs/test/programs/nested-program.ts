// A program for tests: one run whose agent asks a sub-agent, which asks another one, and runs a script. Effects and answers
// of models are noted in a file. The process kills itself before a statement that writes.
import { appendFileSync } from 'node:fs';
import { codeMode } from '@pocket-agent/code-mode';
import { PocketAgent, tool } from 'pocket-agent';
import { type ScriptedAnswer, ScriptedModel } from 'pocket-agent/testing';
import { killBefore } from '../../../store/test/kill-before.ts';
import { openRuns } from '../../src/index.ts';
import { silent } from '../agents.ts';

export interface NestedOptions {
  url: string;
  effects: string;
  killAt?: number;
}

const { url, effects, killAt }: NestedOptions = JSON.parse(process.argv[2] ?? '{}');
const note = (text: string) => appendFileSync(effects, `${text}\n`);

/** Notes every answer that is paid for. */
function model(name: string, script: readonly (string | ScriptedAnswer)[]): ScriptedModel {
  const next = ({ prompt }: { prompt: readonly { role: string }[] }) => {
    const number = prompt.filter(({ role }) => role === 'assistant').length;
    note(`model ${name} ${number}`);
    return script[number] ?? 'more';
  };
  return new ScriptedModel(Array.from({ length: 100 }, () => next));
}

const acting = (name: string) =>
  tool({
    name,
    description: name,
    run: ({ order }: { order?: unknown }) => {
      note(`${name} ${JSON.stringify(order)}`);
      return { done: order };
    },
  });
const look = tool({
  name: 'look',
  description: 'Looks',
  annotations: { readOnlyHint: true },
  run: ({ n }: { n?: number }) => ({ order: `order ${n}` }),
});
const [pay, refund] = [acting('pay'), acting('refund')];
const call = (name: string, args: Record<string, unknown>): ScriptedAnswer => ({
  toolCalls: [{ name, arguments: args }],
});

const helper = new PocketAgent({
  name: 'helper',
  llmModel: model('helper', [call('pay', { order: 'by helper' }), 'helped']),
  tools: [pay],
  logger: silent,
});
const clerk = new PocketAgent({
  name: 'clerk',
  llmModel: model('clerk', [
    {
      toolCalls: [
        { name: 'pay', arguments: { order: 'by clerk' } },
        { name: 'refund', arguments: { order: 'by clerk' } },
      ],
    },
    call('helper-message', { message: 'Help' }),
    'first done',
    'second done',
  ]),
  tools: [pay, refund],
  subAgents: [helper],
  logger: silent,
});
const code = `
  const orders = await Promise.all([1, 2, 3].map((n) => tools.look({ n })));
  for (const { order } of orders) await tools.pay({ order });
  await tools.refund({ order: 'by script' });
  await tools.pay({ order: { at: Date.now(), random: Math.random() } });
  return tools['clerk-message']({ message: 'And?' });
`;
const agent = () =>
  new PocketAgent({
    name: 'main',
    llmModel: model('main', [call('clerk-message', { message: 'Go' }), call('run_code', { code }), 'Done']),
    tools: [look, pay, refund, codeMode({ timeoutMs: 120_000, maxCpuMs: 60_000 })],
    subAgents: [clerk],
    access: { confirm: ({ name }) => name === 'refund' },
    logger: silent,
  });

const runs = await openRuns({ url, agents: { a: agent } });
let writes = 0;
if (killAt !== undefined)
  killBefore((statement) => /^\s*(with|insert|update|delete|commit|begin)/i.test(statement) && ++writes === killAt);
await runs.start('a', 'Go', { id: 'run-0' });
const answer = runs.result('run-0');
let isOver = false;
void answer.then(() => {
  isOver = true;
});
while (!isOver) {
  for (const { id, run } of await runs.questions()) {
    // the run waits in the database
    if ((await runs.get(run))?.status === 'waiting') await runs.answer(id, 'allow').catch(() => {});
  }
  await new Promise((resolve) => setTimeout(resolve, 5));
}
const { totals } = (await runs.get('run-0')) ?? {};
console.log(JSON.stringify({ answer: await answer, writes, totals }));
await runs.close();
