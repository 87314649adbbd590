// An agent as an A2A server, and a remote A2A agent as a tool. Its approval requests go to the root agent.
import assert from 'node:assert/strict';
import { remoteAgent } from '@pocket-agent/a2a';
import { PocketAgent, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';

const files = new Set(['a.log', 'b.log']);
await using janitor = new PocketAgent({
  llmModel: new ScriptedModel([
    { toolCalls: [...files].map((name) => ({ name: 'delete_file', arguments: { name } })) },
    'I deleted what I was allowed to delete.',
  ]),
  name: 'Janitor',
  roleDescription: 'Tidies up files',
  tools: [
    tool({
      name: 'delete_file',
      description: 'Deletes a file',
      run: ({ name }) => (files.delete(String(name)) ? `${name} is deleted` : `${name} does not exist`),
    }),
  ],
  access: { confirm: 'destructive' },
});
const server = janitor.asA2aServer({ tokens: { 'shared-secret': 'admin' } });
const { url, cardUrl } = await server.listen();
const card = (await (await fetch(cardUrl)).json()) as { name: string; skills: { description: string }[] };
console.log(`${card.name} listens on ${url}: ${card.skills[0]?.description}`);

await using boss = new PocketAgent({
  llmModel: new ScriptedModel([
    { toolCalls: [{ name: 'Janitor-message', arguments: { message: 'Tidy up.' } }] },
    'It is tidy now.',
  ]),
  name: 'Boss',
  tools: [remoteAgent({ url, token: 'shared-secret', approvals: true })],
  approve: ({ path, tool: name, arguments: args }) => {
    console.log(`${path.join(' → ')} wants to call ${name} ${JSON.stringify(args)}`); // a real program asks a person here
    return args.name === 'a.log' ? 'allow' : { deny: 'this file is still needed' };
  },
});
console.log(await boss.run('Have the files tidied up.'));

assert.equal(card.name, 'Janitor');
assert.deepEqual([...files], ['b.log']);
assert.match(JSON.stringify(boss.messages), /I deleted what I was allowed to delete/);
