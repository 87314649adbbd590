// The worker of the demo: advances the run until it is over, or waits for a person.
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { PocketAgent, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { openRuns } from '../src/index.ts';

const { file, invoices, dies } = JSON.parse(process.argv[2] ?? '{}');

const pay = tool({
  name: 'pay',
  description: 'Pays an invoice',
  run: ({ invoice }: { invoice?: number }) => {
    appendFileSync(invoices, `${invoice}\n`);
    if (dies && invoice === 2) process.kill(process.pid, 'SIGKILL');
    return `invoice ${invoice} is paid`;
  },
});
const look = tool({
  name: 'look',
  description: 'Lists what is paid',
  annotations: { readOnlyHint: true },
  run: () => (existsSync(invoices) ? readFileSync(invoices, 'utf8') : 'nothing'),
});
const steps = [
  { toolCalls: [{ name: 'pay', arguments: { invoice: 1 } }] },
  { toolCalls: [{ name: 'pay', arguments: { invoice: 2 } }] },
  { text: 'I check whether invoice 2 is paid.', toolCalls: [{ name: 'look' }] },
  { toolCalls: [{ name: 'pay', arguments: { invoice: 3 } }] },
  'Invoices 1, 2 and 3 are paid.',
];
/** In place of a model: its answer follows from the history, as that of a model does. */
const next = ({ prompt }: { prompt: readonly { role: string }[] }) =>
  steps[prompt.filter(({ role }) => role === 'assistant').length] ?? 'Done.';

const payments = () =>
  new PocketAgent({
    name: 'payments',
    llmModel: new ScriptedModel(Array.from({ length: 10 }, () => next)),
    tools: [pay, look],
    access: { confirm: (_tool, args) => args.invoice === 3 },
  });

await using runs = await openRuns({ url: `sqlite:${file}`, agents: { payments } });
for (let status = 'queued'; ['queued', 'running'].includes(status); status = (await runs.get('invoices'))?.status ?? '')
  await new Promise((resolve) => setTimeout(resolve, 20));
