// Access control: a profile, an approver in the root agent, and an audit record of every call.
import assert from 'node:assert/strict';
import { type AuditRecord, type Capability, PocketAgent, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';

const make = (name: string, capability: Capability) =>
  tool({ name, description: `Does ${name}`, capability, run: () => `${name}: done` });
const tools = [make('list_posts', 'read'), make('post_message', 'write'), make('delete_message', 'delete')];

const worker = new PocketAgent({
  llmModel: new ScriptedModel([
    { toolCalls: tools.map(({ definition: { name } }) => ({ name, arguments: { id: 1, token: 'top-secret' } })) },
    'I did what I was allowed to do.',
  ]),
  name: 'Worker',
  tools,
});

const audit: AuditRecord[] = [];
await using boss = new PocketAgent({
  llmModel: new ScriptedModel([{ toolCalls: [{ name: 'Worker-message', arguments: { message: 'Go.' } }] }, 'Done.']),
  name: 'Boss',
  subAgents: [worker], // has at most the rights of Boss, and needs the same approvals
  access: { profile: 'writer', confirm: 'write' },
  approve: ({ path, tool: name, arguments: args }) => {
    console.log(`${path.join(' > ')} wants to call ${name} ${JSON.stringify(args)}`);
    return 'allow'; // a real program asks a person here
  },
  hooks: {
    onEvent: (event) => {
      if (event.type === 'audit' && event.meta.agentName === 'Worker') audit.push(event.data);
    },
  },
});
console.log(await boss.run('Clean up.'));
for (const { tool: name, capability, decision, by, outcome } of audit)
  console.log({ name, capability, decision, by, outcome });

assert.deepEqual(audit.map(({ tool: name, decision }) => `${name} ${decision}`).sort(), [
  'delete_message refused',
  'list_posts allowed',
  'post_message approved',
]);
assert.ok(!JSON.stringify(audit).includes('top-secret'));
