// A program for tests: a worker whose calls note their process in a file, and last until a file with their name exists.
import { appendFileSync, existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { tool } from 'pocket-agent';
import { openRuns } from '../../src/index.ts';
import { agentOf } from '../agents.ts';

const { url, folder }: { url: string; folder: string } = JSON.parse(process.argv[2] ?? '{}');
const lasting = (name: string, readOnlyHint: boolean) =>
  tool({
    name,
    description: name,
    annotations: { readOnlyHint },
    run: async () => {
      appendFileSync(`${folder}/calls`, `${name} ${process.pid}\n`);
      while (!existsSync(`${folder}/${name}-may-end`)) await sleep(20);
      return `${name} done`;
    },
  });
const tools = [lasting('pay', false), lasting('look', true)];
const script = [{ toolCalls: [{ name: 'pay' }] }, { toolCalls: [{ name: 'look' }] }, 'Done'];
const runs = await openRuns({ url, agents: { a: () => agentOf(script, { tools }) } });
process.once('SIGTERM', () => void runs.close());
console.log('ready');
