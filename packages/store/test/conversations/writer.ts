// A program for tests: an agent that continues a conversation in its own process. Every run makes two tool calls, and
// its number is printed when it has ended.
import { readSync } from 'node:fs';
import { PocketAgent, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { openConversations } from '../../src/index.ts';
import { killBefore } from '../kill-before.ts';

export interface WriterOptions {
  location: string;
  id: string;
  /** The beginning of all messages of this process. */
  name: string;
  runs: number;
  leaseMs?: number;
  /** The first tool call blocks the whole process until a byte comes on stdin. */
  blocks?: boolean;
  /** The process kills itself before this statement on the database, counted from 1 after the database was opened. */
  killAt?: number;
}

const options: WriterOptions = JSON.parse(process.argv[2] ?? '{}');
const { location, id, name, runs, leaseMs = 15_000, blocks, killAt } = options;
let mayBlock = blocks === true;
const add = tool({
  name: 'add',
  description: 'Adds',
  run: () => {
    if (mayBlock) {
      mayBlock = false;
      console.log('blocked');
      readSync(0, Buffer.alloc(1));
    }
    return 'added';
  },
});
const script = Array.from({ length: runs * 2 }, (_, index) =>
  index % 2 === 0 ? { toolCalls: [{ name: 'add' }, { name: 'add' }] } : `${name} answer ${index >> 1}`,
);
const place = /^postgres/.test(location) ? { url: location } : { file: location };
const chats = await openConversations({ ...place, leaseMs });
if (killAt !== undefined) killBefore((_statement, number) => number === killAt);
const agent = new PocketAgent({ llmModel: new ScriptedModel(script), tools: [add] });
const chat = await chats.open(id, agent, { waitMs: 60_000 });
console.log('ready');
for (let run = 0; run < runs; run++) {
  await chat.run(`${name} question ${run}`).catch((error) => console.log(`failed ${error.code}`));
  console.log(`ended ${run}`);
}
await chats.close();
