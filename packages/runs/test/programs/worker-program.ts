// A program for tests: a worker. Its tool notes each effect in a file.
import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { tool } from 'pocket-agent';
import { openRuns } from '../../src/index.ts';
import { agentOf } from '../agents.ts';

const { url, effects }: { url: string; effects: string } = JSON.parse(process.argv[2] ?? '{}');
const pay = tool({
  name: 'pay',
  description: 'Pays',
  run: async (_args: object, { caller }) => {
    appendFileSync(effects, `${caller}\n`);
    await sleep(20); // time to be killed in
    return 'paid';
  },
});
const look = tool({ name: 'look', description: 'Looks', annotations: { readOnlyHint: true }, run: () => 'seen' });
const script = [{ toolCalls: [{ name: 'look' }] }, { toolCalls: [{ name: 'pay' }] }, 'Done'];
await openRuns({ url, agents: { a: () => agentOf(script, { tools: [pay, look] }) } });
console.log('ready');
